// jinja/template_strftime.c - see template_strftime.h. Conversions are those of strftime(3) in the
// C locale.
#include "jinja/template_strftime.h"
#include <stdio.h>
#include <time.h>

static const char *const days[] = {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
static const char *const months[] = {"January", "February", "March",     "April",   "May",      "June",
                                     "July",    "August",   "September", "October", "November", "December"};

// A numeric conversion: value, minimum number of digits, and fill character.
struct number {
    char letter;
    long long value;
    int digits;
    char fill;
};

// Number of weeks of this year, beginning on day `first` (0: Sunday), up to today.
static int week_of(const struct tm *t, int first) { return (t->tm_yday + 7 - (t->tm_wday + 7 - first) % 7) / 7; }

static bool is_leap(long long year) { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0; }

// ISO 8601: weeks begin on Monday and belong to the year of their Thursday.
static int iso_week(const struct tm *t, long long *year) {
    const int day = (t->tm_wday + 6) % 7; // days since Monday
    *year = t->tm_year + 1900LL;
    int week = (t->tm_yday - day + 10) / 7;
    if (week < 1) {
        --*year;
        const int n_days = t->tm_yday + 365 + is_leap(*year);
        week = (n_days - day + 10) / 7;
    } else if (week == 53) {
        const int n_days = 365 + is_leap(*year);
        if (t->tm_yday - day + 3 >= n_days) ++*year, week = 1;
    }
    return week;
}

static bool find_number(const struct tm *t, int64_t now, char letter, struct number *out) {
    long long iso_year;
    const int week = iso_week(t, &iso_year), hour12 = t->tm_hour % 12 == 0 ? 12 : t->tm_hour % 12;
    const struct number all[] = {
        {'d', t->tm_mday, 2, '0'},
        {'e', t->tm_mday, 2, ' '},
        {'m', t->tm_mon + 1, 2, '0'},
        {'Y', t->tm_year + 1900LL, 1, '0'},
        {'y', t->tm_year % 100, 2, '0'},
        {'C', (t->tm_year + 1900LL) / 100, 2, '0'},
        {'H', t->tm_hour, 2, '0'},
        {'I', hour12, 2, '0'},
        {'k', t->tm_hour, 2, ' '},
        {'l', hour12, 2, ' '},
        {'M', t->tm_min, 2, '0'},
        {'S', t->tm_sec, 2, '0'},
        {'j', t->tm_yday + 1, 3, '0'},
        {'w', t->tm_wday, 1, '0'},
        {'u', t->tm_wday ? t->tm_wday : 7, 1, '0'},
        {'U', week_of(t, 0), 2, '0'},
        {'W', week_of(t, 1), 2, '0'},
        {'V', week, 2, '0'},
        {'G', iso_year, 1, '0'},
        {'g', iso_year % 100, 2, '0'},
        {'s', now, 1, '0'},
        {'f', 0, 6, '0'},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].letter == letter) return *out = all[i], true;
    return false;
}

static const char *word_of(const struct tm *t, char letter, char short_name[4]) {
    switch (letter) {
    case 'A': return days[t->tm_wday];
    case 'B': return months[t->tm_mon];
    case 'a': return sprintf(short_name, "%.3s", days[t->tm_wday]), short_name;
    case 'b':
    case 'h': return sprintf(short_name, "%.3s", months[t->tm_mon]), short_name;
    case 'p': return t->tm_hour < 12 ? "AM" : "PM";
    case 'P': return t->tm_hour < 12 ? "am" : "pm";
    case 'n': return "\n";
    case 't': return "\t";
    case '%': return "%";
    case 'z': // the time has no zone, as in Python's datetime.now()
    case 'Z': return "";
    default: return NULL;
    }
}

// Conversions that are abbreviations of several others.
static const char *parts_of(char letter) {
    static const struct {
        char letter;
        const char *parts;
    } all[] = {{'c', "%a %b %e %H:%M:%S %Y"}, {'D', "%m/%d/%y"}, {'x', "%m/%d/%y"}, {'F', "%Y-%m-%d"},
               {'r', "%I:%M:%S %p"},          {'R', "%H:%M"},    {'T', "%H:%M:%S"}, {'X', "%H:%M:%S"}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].letter == letter) return all[i].parts;
    return NULL;
}

static bool is_conversion(const struct tm *t, int64_t now, char letter) {
    struct number unused;
    char short_name[4];
    return parts_of(letter) || find_number(t, now, letter, &unused) || word_of(t, letter, short_name);
}

// Between % and the letter: flags, of which the last one counts, and a width.
struct way {
    char flag; // one of -_0^#, or 0
    int width;
};

// Writes the conversion `letter`, which must be valid.
static bool put_conversion(struct render *r, const struct tm *t, int64_t now, struct way way, char letter) {
    struct number n;
    char text[128], short_name[4];
    const char flag = way.flag;
    if (find_number(t, now, letter, &n)) {
        const char fill = flag == '_' ? ' ' : flag == '0' ? '0' : n.fill;
        const int digits = way.width ? way.width : flag == '-' ? 1 : n.digits;
        const int len = snprintf(text, sizeof text, fill == '0' ? "%0*lld" : "%*lld", digits, n.value);
        return tr_put(r, text, (size_t)len, false);
    }
    const char *const word = word_of(t, letter, short_name);
    for (int i = (int)strlen(word); i < way.width; i++)
        if (!tr_put(r, flag == '0' ? "0" : " ", 1, false)) return false;
    for (const char *s = word; *s; s++) {
        const bool lowers = flag == '#' && letter == 'p', raises = flag == '^' || (flag == '#' && letter != 'p');
        const char c = raises && *s >= 'a' && *s <= 'z'   ? (char)(*s - 32)
                       : lowers && *s >= 'A' && *s <= 'Z' ? (char)(*s + 32)
                                                          : *s;
        if (!tr_put(r, &c, 1, false)) return false;
    }
    return true;
}

static bool put_parts(struct render *r, const struct tm *t, int64_t now, const char *parts) {
    for (; *parts; parts++) {
        const bool ok =
            *parts == '%' ? put_conversion(r, t, now, (struct way){0}, *++parts) : tr_put(r, parts, 1, false);
        if (!ok) return false;
    }
    return true;
}

bool tr_put_time(struct render *r, const tval *format, int64_t now) {
    const char *const s = format->str.s;
    const time_t moment = (time_t)now;
    struct tm t;
    if (!localtime_r(&moment, &t))
        return tr_raise(r, "ValueError", "strftime_now(): the time is out of range") != NULL;
    for (size_t at = 0; at < format->str.n;) {
        const char *const hit = memchr(s + at, '%', format->str.n - at);
        const size_t percent = hit ? (size_t)(hit - s) : format->str.n;
        size_t to = percent + 1;
        if (!tr_put_part(r, format, at, percent) || !tr_work(r, 16)) return false;
        struct way way = {0};
        while (to < format->str.n && s[to] && strchr("-_0^#", s[to])) way.flag = s[to++];
        while (to < format->str.n && s[to] >= '0' && s[to] <= '9' && way.width < 10)
            way.width = way.width * 10 + s[to++] - '0';
        at = to < format->str.n ? to : format->str.n;
        if (percent == format->str.n) return true;
        if (at == format->str.n || !is_conversion(&t, now, s[at])) {
            if (!tr_put_part(r, format, percent, at)) return false; // not a conversion: written unchanged
        } else {
            const char *const parts = parts_of(s[at]);
            if (parts && !tr_work(r, 64)) return false;
            if (!(parts ? put_parts(r, &t, now, parts) : put_conversion(r, &t, now, way, s[at]))) return false;
            at++;
        }
    }
    return true;
}
