# cmake/page.cmake - writes OUT, a C file with the files of the folder WEB as the table of serve/status/page_files.h, plain and as gzip, and
# the latter into the folder GZIP. The same files give the same bytes.
cmake_minimum_required(VERSION 3.22)
set(ENV{SOURCE_DATE_EPOCH} 0) # no time in the gzip header
set(type_html "text/html; charset=utf-8")
set(type_css "text/css; charset=utf-8")
set(type_js "text/javascript; charset=utf-8")
set(type_svg "image/svg+xml")
set(type_webmanifest "application/manifest+json")
set(type_LICENSE "text/plain; charset=utf-8")

file(GLOB_RECURSE names RELATIVE ${WEB} ${WEB}/*)
list(SORT names)
set(n 0)
foreach(name ${names})
    get_filename_component(extension ${name} LAST_EXT)
    string(SUBSTRING "${extension}" 1 -1 extension)
    if(NOT DEFINED type_${extension})
        message(FATAL_ERROR "web/${name}: no content type is known for it (cmake/page.cmake)")
    endif()
    set(gzip ${GZIP}/${n}.gz)
    file(ARCHIVE_CREATE OUTPUT ${gzip} PATHS ${WEB}/${name} FORMAT raw COMPRESSION GZip COMPRESSION_LEVEL 9)
    file(SHA256 ${WEB}/${name} hash)
    string(SUBSTRING ${hash} 0 32 hash)
    string(APPEND bytes "        \"page_${n}: .incbin \\\"${WEB}/${name}\\\"\\n\"\n        \"page_${n}_gz: .incbin \\\"${gzip}\\\"\\n\"\n        \"page_${n}_end:\\n\"\n")
    string(APPEND declared "PART page_${n}[], page_${n}_gz[], page_${n}_end[];\n")
    string(APPEND rows "    {\"${name}\", \"${type_${extension}}\", \"${hash}\", page_${n}, page_${n}_gz, page_${n}_end},\n")
    math(EXPR n "${n} + 1")
endforeach()
file(WRITE ${OUT} "// written by cmake/page.cmake
#include \"serve/status/page_files.h\"

#define PART extern __attribute__((visibility(\"hidden\"))) const unsigned char
__asm__(\".pushsection .rodata\\n\"
${bytes}        \".popsection\\n\");
${declared}
const page_file page_files[] = {
${rows}    {0},
};
")
