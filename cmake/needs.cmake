# cmake/needs.cmake - what the library stands on (docs/dependencies.md). All that is missing is named at once, with its package.
find_package(Threads REQUIRED)
set(RUNNEL_LIBRARIES Threads::Threads m)
set(RUNNEL_PICTURES "")                      # formats of pictures whose library is there
set(RUNNEL_PICTURES_ABSENT PNG JPEG WEBP GIF)
if(RUNNEL_ROOMS AND NOT "text" IN_LIST RUNNEL_ROOMS)
    return() # the rooms beside and below it need the C library only
endif()
find_package(PkgConfig)
if(NOT PKG_CONFIG_FOUND)
    message(FATAL_ERROR "runnel: pkg-config is not here, and finds the libraries that it needs (Debian, Ubuntu: pkg-config)")
endif()

set(missing "")
# A library that pkg-config knows, as PkgConfig::NAME.
macro(runnel_needs name module least package)
    pkg_check_modules(${name} QUIET IMPORTED_TARGET "${module}>=${least}")
    if(NOT ${name}_FOUND)
        string(APPEND missing "\n  ${module} ${least} or newer (Debian, Ubuntu: ${package})")
    endif()
endmacro()

set(RUNNEL_NEEDS_STATIC "") # the same for whoever links the static library
foreach(need "PCRE2 libpcre2-8 10.40 libpcre2-dev" "UTF8PROC libutf8proc 2.5 libutf8proc-dev"
        "JANSSON jansson 2.12 libjansson-dev")
    separate_arguments(need)
    runnel_needs(${need})
    list(GET need 0 name)
    list(GET need 1 module)
    list(GET need 2 least)
    list(APPEND RUNNEL_NEEDS_STATIC "${module} >= ${least}")
    list(APPEND RUNNEL_LIBRARIES PkgConfig::${name})
endforeach()

# Pictures: a format whose library is not there is refused by name (src/media/picture.c). libjpeg 2: libjpeg-turbo's numbers.
set(RUNNEL_PICTURE_LIBRARIES "") # for the linker alone: only src/media has their headers
set(RUNNEL_PICTURE_PACKAGES "")
foreach(need "PNG libpng 1.6.32 libpng-dev" "JPEG libjpeg 2.0 libjpeg-dev" "WEBP libwebpdemux 1.0 libwebp-dev"
        "GIF libgif 5.1 libgif-dev")
    separate_arguments(need)
    list(GET need 0 name)
    list(GET need 1 module)
    list(GET need 2 least)
    list(GET need 3 package)
    pkg_check_modules(${name} QUIET IMPORTED_TARGET "${module}>=${least}")
    if(NOT ${name}_FOUND)
        message(STATUS "runnel: no ${module} ${least} or newer: ${name} pictures are not read (Debian, Ubuntu: ${package})")
        continue()
    endif()
    list(APPEND RUNNEL_PICTURES ${name})
    list(REMOVE_ITEM RUNNEL_PICTURES_ABSENT ${name})
    list(APPEND RUNNEL_NEEDS_STATIC "${module} >= ${least}")
    list(APPEND RUNNEL_PICTURE_LIBRARIES $<LINK_ONLY:PkgConfig::${name}>)
    string(APPEND RUNNEL_PICTURE_PACKAGES ", ${package}")
endforeach()

# The program's own: nobody who links the library needs them.
runnel_needs(EDIT libedit 3.1 libedit-dev)
runnel_needs(GNUTLS gnutls 3.7 libgnutls28-dev)
runnel_needs(NETTLE nettle 3.6 nettle-dev)
find_library(WSLAY_LIBRARY wslay) # its package says nothing to pkg-config
find_path(WSLAY_INCLUDE wslay/wslay.h)
if(NOT WSLAY_LIBRARY OR NOT WSLAY_INCLUDE)
    string(APPEND missing "\n  libwslay (Debian, Ubuntu: libwslay-dev)")
endif()
# Without it everything but `runnel pull` is built, which then says what is missing. 7.85: protocols by name.
pkg_check_modules(CURL QUIET IMPORTED_TARGET "libcurl>=7.85")
if(NOT CURL_FOUND)
    message(STATUS "runnel: no libcurl 7.85 or newer: `runnel pull` is not built (Debian, Ubuntu: libcurl4-gnutls-dev)")
endif()
# Without it `runnel chat` shows Markdown as it is written.
pkg_check_modules(MD4C QUIET IMPORTED_TARGET "md4c>=0.4.7")
if(NOT MD4C_FOUND)
    message(STATUS "runnel: no md4c 0.4.7 or newer: `runnel chat` does not draw Markdown (Debian, Ubuntu: libmd4c-dev)")
endif()
# Without them everything but `runnel-video` is built, and videos are refused. 59: FFmpeg 5.1.
pkg_check_modules(FFMPEG QUIET IMPORTED_TARGET "libavformat>=59.27" "libavcodec>=59.37" "libavutil>=57.28" "libswscale>=6.7")
if(NOT FFMPEG_FOUND)
    message(STATUS "runnel: no FFmpeg 5.1 or newer: videos are not read (Debian, Ubuntu: libavformat-dev libswscale-dev)")
endif()
set(RUNNEL_PULL_LIBRARIES PkgConfig::CURL PkgConfig::NETTLE)
set(RUNNEL_CLI_LIBRARIES PkgConfig::EDIT)
if(MD4C_FOUND)
    list(APPEND RUNNEL_CLI_LIBRARIES PkgConfig::MD4C)
endif()
set(RUNNEL_SERVE_LIBRARIES llhttp PkgConfig::GNUTLS PkgConfig::NETTLE ${WSLAY_LIBRARY})
if(missing)
    message(FATAL_ERROR "runnel: pkg-config does not find:${missing}\nInstall what is missing, or let ./dev build do it.")
endif()
