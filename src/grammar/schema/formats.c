// grammar/schema/formats.c - see formats.h.
#include "grammar/schema/formats.h"
#include <string.h>

#define LEAP_YEAR "(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)"
#define DATE                                                                                                         \
    "(?:\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)"                   \
    "|02-(?:0[1-9]|1\\d|2[0-8]))|" LEAP_YEAR "-02-29)"
#define OFFSET "(?:[Zz]|[+-](?:[01]\\d|2[0-3]):[0-5]\\d)"
#define TIME   "(?:(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d+)?" OFFSET "|23:59:60(?:\\.\\d+)?(?:[Zz]|[+-]00:00))"
#define LABEL  "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
#define HOST   LABEL "(?:\\." LABEL ")*"
// Labels that do not begin with xn--, said without a complement, which would have to be searched for what it leaves.
#define TAIL_OF(n) "(?:[A-Za-z0-9-]{0," n "}[A-Za-z0-9])?"
#define PLAIN_LABEL                                                                                                  \
    "(?:[A-WYZa-wyz0-9]" TAIL_OF("61") "|[Xx](?:[A-MO-Za-mo-z0-9]" TAIL_OF(                                          \
        "60") "|-[A-Za-z0-9-]{0,60}[A-Za-z0-9]|"                                                                     \
              "[Nn](?:[A-Za-z0-9]" TAIL_OF("59") "|-[A-Za-z0-9]" TAIL_OF("58") ")?)?)"
#define OCTET "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)"
#define IPV4  OCTET "(?:\\." OCTET "){3}"
#define H16   "[0-9A-Fa-f]{1,4}"
#define LS32  "(?:" H16 ":" H16 "|" IPV4 ")"
// RFC 3986, appendix A
#define IPV6                                                                                                         \
    "(?:(?:" H16 ":){6}" LS32 "|::(?:" H16 ":){5}" LS32 "|(?:" H16 ")?::(?:" H16 ":){4}" LS32 "|(?:(?:" H16          \
    ":){0,1}" H16 ")?::(?:" H16 ":){3}" LS32 "|(?:(?:" H16 ":){0,2}" H16 ")?::(?:" H16 ":){2}" LS32 "|(?:(?:" H16    \
    ":){0,3}" H16 ")?::" H16 ":" LS32 "|(?:(?:" H16 ":){0,4}" H16 ")?::" LS32 "|(?:(?:" H16 ":){0,5}" H16 ")?::" H16 \
    "|(?:(?:" H16 ":){0,6}" H16 ")?::)"
#define HEX         "%[0-9A-Fa-f]{2}"
#define UNRESERVED  "A-Za-z0-9\\-._~"
#define SUB_DELIMS  "!$&'()*+,;="
#define PCHAR(more) "(?:[" UNRESERVED SUB_DELIMS ":@" more "]|" HEX ")"
#define AUTHORITY(more)                                                                                              \
    "(?:(?:[" UNRESERVED SUB_DELIMS ":" more "]|" HEX ")*@)?(?:\\[(?:" IPV6                                          \
    "|[Vv][0-9A-Fa-f]+\\.[" UNRESERVED SUB_DELIMS ":]+)\\]|(?:[" UNRESERVED SUB_DELIMS more "]|" HEX ")*)(?::\\d*)?"
#define PATHS(more)                                                                                                  \
    "(?://" AUTHORITY(more) "(?:/" PCHAR(more) "*)*|/(?:" PCHAR(more) "+(?:/" PCHAR(more) "*)*)?|" PCHAR(            \
        more) "+(?:/" PCHAR(more) "*)*)?"
#define TAIL(more, private) "(?:\\?(?:" PCHAR(more private) "|[/?])*)?(?:#(?:" PCHAR(more) "|[/?])*)?"
#define SCHEME              "[A-Za-z][A-Za-z0-9+.\\-]*:"
#define SEGMENT_NC(more)    "(?:[" UNRESERVED SUB_DELIMS "@" more "]|" HEX ")+"
#define RELATIVE(more)                                                                                               \
    "(?://" AUTHORITY(more) "(?:/" PCHAR(more) "*)*|/(?:" PCHAR(more) "+(?:/" PCHAR(more) "*)*)?|" SEGMENT_NC(       \
        more) "(?:/" PCHAR(more) "*)*)?"
#define NON_ASCII                                                                                                    \
    "\\u00a0-\\ud7ff\\uf900-\\ufdcf\\ufdf0-\\uffef\\u{10000}-\\u{1fffd}\\u{20000}-\\u{2fffd}\\u{30000}-\\u{efffd}"
#define PRIVATE      "\\ue000-\\uf8ff\\u{f0000}-\\u{ffffd}\\u{100000}-\\u{10fffd}"
#define BEYOND_ASCII "\\u0080-\\u{10ffff}"
#define ATEXT        "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
#define UTEXT        "[A-Za-z0-9!#$%&'*+/=?^_`{|}~" BEYOND_ASCII "-]+"
#define QUOTED(more) "\"(?:[ !#-\\[\\]-~" more "]|\\\\[ -~])*\""
#define ADDRESS      "\\[(?:" IPV4 "|IPv6:" IPV6 ")\\]"
#define ULABEL                                                                                                       \
    "[A-Za-z0-9\\u00a0-\\u{10ffff}](?:[A-Za-z0-9\\u00a0-\\u{10ffff}-]{0,61}[A-Za-z0-9\\u00a0-\\u{10ffff}])?"
// RFC 6570, section 2
#define VARNAME "(?:[A-Za-z0-9_]|" HEX ")(?:\\.?(?:[A-Za-z0-9_]|" HEX "))*(?::[1-9]\\d{0,3}|\\*)?"
#define TEMPLATE                                                                                                         \
    "(?:[!#$&'()*+,\\-./0-9:;=?@A-Z\\[\\]_a-z~\\u00a0-\\ud7ff\\ue000-\\ufdcf\\ufdf0-\\uffef\\u{10000}-\\u{10ffff}]|" HEX \
    "|\\{[+#./;?&=,!@|]?" VARNAME "(?:," VARNAME ")*\\})*"
#define POINTER "(?:/(?:[^~/]|~[01])*)*"

static const struct {
    const char *name, *pattern;
} formats[] = {
    {"date", DATE},
    {"time", TIME},
    {"date-time", DATE "[Tt]" TIME},
    // RFC 3339, appendix A
    {"duration",
     "P(?:\\d+W|(?:\\d+Y(?:\\d+M(?:\\d+D)?)?|\\d+M(?:\\d+D)?|\\d+D)(?:T(?:\\d+H(?:\\d+M(?:\\d+S)?)?|\\d+M(?:\\d+S)?|\\d+S))?"
     "|T(?:\\d+H(?:\\d+M(?:\\d+S)?)?|\\d+M(?:\\d+S)?|\\d+S))"},
    // RFC 5321, section 4.1.2
    {"email", "(?:" ATEXT "(?:\\." ATEXT ")*|" QUOTED("") ")@(?:" HOST "|" ADDRESS ")"},
    // RFC 1123. Labels of other scripts (xn--) would have to be decoded to be checked.
    {"hostname", "(?=.{1,253}$)" PLAIN_LABEL "(?:\\." PLAIN_LABEL ")*"},
    {"ipv4", IPV4},
    {"ipv6", IPV6},
    {"uri", SCHEME PATHS("") TAIL("", "")},
    {"uri-reference", "(?:" SCHEME PATHS("") "|" RELATIVE("") ")" TAIL("", "")},
    {"iri", SCHEME PATHS(NON_ASCII) TAIL(NON_ASCII, PRIVATE)},
    {"iri-reference", "(?:" SCHEME PATHS(NON_ASCII) "|" RELATIVE(NON_ASCII) ")" TAIL(NON_ASCII, PRIVATE)},
    {"uuid", "[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}"},
    {"uri-template", TEMPLATE},
    // RFC 6531, section 3.3
    {"idn-email",
     "(?:" UTEXT "(?:\\." UTEXT ")*|" QUOTED(BEYOND_ASCII) ")@(?:" ULABEL "(?:\\." ULABEL ")*|" ADDRESS ")"},
    {"json-pointer", POINTER},
    {"relative-json-pointer", "(?:0|[1-9]\\d*)(?:#|" POINTER ")"},
};

const char *format_pattern(const char *name, size_t n) {
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strlen(formats[i].name) == n && memcmp(formats[i].name, name, n) == 0) return formats[i].pattern;
    return NULL;
}

bool format_is_known(const char *name, size_t n) {
    static const char *const others[] = {"idn-hostname", "regex"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strlen(others[i]) == n && memcmp(others[i], name, n) == 0) return true;
    return format_pattern(name, n) != NULL;
}
