# cmake/commit.cmake - writes OUT, a C file with the commit of the source tree in SOURCE, when that has changed: `bench` tells of which
# commit its figures are. Without git, or outside of a repository, it is empty.
execute_process(
    COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=12 --match=
    OUTPUT_VARIABLE commit ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
if(failed OR NOT EXISTS ${SOURCE}/.git OR NOT commit MATCHES "^[0-9a-f]+(-dirty)?$")
    set(commit "")
endif()
set(text "// written by cmake/commit.cmake\nextern const char runnel_commit[];\nconst char runnel_commit[] = \"${commit}\";\n")
if(EXISTS ${OUT})
    file(READ ${OUT} there)
endif()
if(NOT there STREQUAL text)
    file(WRITE ${OUT} "${text}")
endif()
