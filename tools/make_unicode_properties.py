#!/usr/bin/env python3
"""tools/make_unicode_properties.py - makes src/grammar/unicode_properties.c: the scripts of characters, and some of their properties.

Usage: make_unicode_properties.py > src/grammar/unicode_properties.c. Needs perl with Unicode::UCD, whose version of Unicode it is.
General categories are utf8proc's and not repeated here: a property that has whole ones is these and some ranges.
"""
import subprocess
import unicodedata

PROPERTIES = {'Alphabetic': ('L', 'Nl'), 'Lowercase': ('Ll', ''), 'Uppercase': ('Lu', '')} | dict.fromkeys(
    ['Emoji', 'Emoji_Component', 'Emoji_Modifier', 'Emoji_Modifier_Base', 'Emoji_Presentation', 'Extended_Pictographic', 'Hex_Digit',
     'ASCII_Hex_Digit', 'Ideographic'], ('', ''))
PERL = r'''
use Unicode::UCD qw(prop_invmap prop_invlist prop_aliases prop_value_aliases);
print Unicode::UCD::UnicodeVersion(), "\n";
my ($from, $of) = prop_invmap("Script");
for my $i (0 .. $#$from) {
    my @names = prop_value_aliases("Script", $of->[$i]);
    print "script $from->[$i] $names[0] $names[1]\n";
}
for my $name (@ARGV) { print "property $name ", join(" ", (prop_aliases($name))[0], prop_invlist($name)), "\n"; }
'''


def rows(items, width):
    for i in range(0, len(items), width):
        print('    ' + ', '.join(items[i:i + width]) + ',')


def other_ranges(bounds, categories):
    """The first and last ones of the ranges between bounds, without characters of these categories."""
    found = []
    for begin, end in zip(bounds[::2], bounds[1::2]):
        for cp in range(begin, end):
            if any(c and unicodedata.category(chr(cp)).startswith(c) for c in categories):
                continue
            if found and found[-1] == cp - 1:
                found[-1] = cp
            else:
                found += [cp, cp]
    return found


def main():
    said = subprocess.run(['perl', '-e', PERL, *PROPERTIES], capture_output=True, text=True, check=True).stdout.splitlines()
    runs = [line.split()[1:] for line in said if line.startswith('script')]
    names = sorted({(long, short) for _, short, long in runs})
    numbers = {short: i for i, (_, short) in enumerate(names)}
    print('// grammar/unicode_properties.c - scripts and properties of characters of Unicode', said[0] + ', made by')
    print('// tools/make_unicode_properties.py from the Unicode Character Database (c) Unicode, Inc., under the Unicode License V3')
    print('// (https://www.unicode.org/license.txt).')
    print('#include "grammar/unicode_properties.h"\n')
    print('// clang-format off')
    print('const struct unicode_script unicode_scripts[] = {')
    rows([f'{{"{long}", "{short}"}}' for long, short in names], 4)
    print('};\n\nconst uint32_t unicode_script_runs[] = {')
    rows([f'{int(at) << 8 | numbers[short]:#x}' for at, short, _ in runs], 12)
    print('};\n')
    ranges, table = [], []
    for line in said:
        if line.startswith('property'):
            _, name, alias, *bounds = line.split()
            found = other_ranges([int(b) for b in bounds], PROPERTIES[name])
            table.append((name, alias, *PROPERTIES[name], len(ranges) // 2, len(found) // 2))
            ranges += found
    print('const struct char_range unicode_property_ranges[] = {')
    rows([f'{{{from_:#x}, {to:#x}}}' for from_, to in zip(ranges[::2], ranges[1::2])], 7)
    print('};\n\nconst struct unicode_property unicode_properties[] = {')
    rows([f'{{"{name}", "{alias}", {{"{a}", "{b}"}}, {first}, {n}}}' for name, alias, a, b, first, n in table], 2)
    print('};\n// clang-format on\n')
    for array, n in (('scripts', 'SCRIPTS'), ('script_runs', 'SCRIPT_RUNS'), ('properties', 'PROPERTIES')):
        print(f'_Static_assert(sizeof unicode_{array} / sizeof *unicode_{array} == UNICODE_{n}, "unicode_properties.h");')


main()
