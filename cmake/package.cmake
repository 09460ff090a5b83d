# cmake/package.cmake - the Debian packages: runnel (to run) and librunnel-dev (to build with), out of the two install components.
# `./dev package` makes them of the preset `package`; tools/try_package.sh installs them on a bare system.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME runnel)
# Who answers for the packages: -DCPACK_PACKAGE_CONTACT, else what Debian's tools take from the environment, else nobody's address.
if(NOT CPACK_PACKAGE_CONTACT AND DEFINED ENV{DEBEMAIL})
    set(CPACK_PACKAGE_CONTACT "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
elseif(NOT CPACK_PACKAGE_CONTACT)
    set(CPACK_PACKAGE_CONTACT "the runnel authors")
endif()
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS # also under a umask that is stricter
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/package_gzip.cmake)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENTS_ALL runtime development)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

# What dpkg-shlibdeps writes into packages that are built with the library, and the refresh of the loader's cache.
file(WRITE ${CMAKE_BINARY_DIR}/debian/shlibs "librunnel ${RUNNEL_SOVERSION} runnel (>= ${PROJECT_VERSION})\n")
file(WRITE ${CMAKE_BINARY_DIR}/debian/triggers "activate-noawait ldconfig\n")

set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME runnel)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION science)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${CMAKE_BINARY_DIR}/debian/shlibs ${CMAKE_BINARY_DIR}/debian/triggers)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "streams of text out of language-model files
Turns a language-model file (GGUF) into streams of text on the CPU. The same
file, request and key/value type give the same text, bit for bit, whatever
the number of threads, the company in the batch or the processor.

This package has the program, a small story model, and the shared library.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME librunnel-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "runnel (= ${PROJECT_VERSION}), libpcre2-dev (>= 10.40), libutf8proc-dev (>= 2.5), libjansson-dev (>= 2.12)${RUNNEL_PICTURE_PACKAGES}")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "streams of text out of language-model files - development files
Headers, the static library, and what pkg-config and CMake need to build with
runnel's library.")
# Each package has the licence beside it; a plain install has it once.
install(FILES LICENSE RENAME copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/librunnel-dev
    COMPONENT development EXCLUDE_FROM_ALL)

include(CPack)
