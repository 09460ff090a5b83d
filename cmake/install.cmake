# cmake/install.cmake - what `cmake --install` puts where. Nothing that is installed holds a path of this machine: any prefix will
# do, and the tree may be moved as a whole. Components: runtime (to run) and development (to build with).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# zsh's own place; Debian keeps the one of packages apart.
set(RUNNEL_ZSH_DIR ${CMAKE_INSTALL_DATADIR}/zsh/site-functions CACHE STRING "where the completion for zsh goes")

# The program looks for its model at ../share/runnel/models, seen from its own folder.
file(RELATIVE_PATH share_from_bin ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_DATADIR})
if(NOT share_from_bin STREQUAL "../share")
    message(WARNING "runnel: the data folder is ${share_from_bin} from bin, not ../share: the installed program will need -m")
endif()

# A static library cannot hide what its files share among themselves (`fail`, `pool_create`, ...), and those names would collide
# with the user's. So the installed one is a single object in which everything is local that is not RN_API.
if(NOT CMAKE_LINKER OR NOT CMAKE_OBJCOPY)
    message(FATAL_ERROR "runnel: ld and objcopy are not here, and make the installed static library (Debian, Ubuntu: binutils)")
endif()
set(static_dir ${CMAKE_BINARY_DIR}/static)
add_custom_command(
    OUTPUT ${static_dir}/librunnel.a
    COMMAND ${CMAKE_COMMAND} -E make_directory ${static_dir}
    COMMAND ${CMAKE_COMMAND} -E rm -f ${static_dir}/librunnel.a
    COMMAND ${CMAKE_LINKER} -r -o ${static_dir}/runnel.o --whole-archive $<TARGET_FILE:runnel_static>
    COMMAND ${CMAKE_OBJCOPY} --localize-hidden ${static_dir}/runnel.o
    COMMAND ${CMAKE_AR} rcsD ${static_dir}/librunnel.a ${static_dir}/runnel.o
    DEPENDS runnel_static
    VERBATIM)
add_custom_target(installed ALL DEPENDS ${static_dir}/librunnel.a)
set(programs runnel runnel-serve)
if(CURL_FOUND)
    list(APPEND programs runnel-pull)
endif()
if(FFMPEG_FOUND)
    list(APPEND programs runnel-video)
endif()
add_dependencies(installed ${programs} runnel_shared)

# To run: the program with what it reads, and the library for programs that were built with it.
install(TARGETS ${programs} COMPONENT runtime)
install(TARGETS runnel_shared EXPORT runnel
    LIBRARY COMPONENT runtime NAMELINK_COMPONENT development
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES models/stories.gguf models/stories.md DESTINATION ${CMAKE_INSTALL_DATADIR}/runnel/models COMPONENT runtime)
file(GLOB man_pages CONFIGURE_DEPENDS docs/man/*.1)
install(FILES ${man_pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT runtime)
install(FILES completions/runnel.bash RENAME runnel
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT runtime)
install(FILES completions/runnel.zsh RENAME _runnel DESTINATION ${RUNNEL_ZSH_DIR} COMPONENT runtime)
install(FILES completions/runnel.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT runtime)
install(FILES CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime)
install(FILES LICENSE RENAME copyright DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime)
install(FILES third_party/llhttp/LICENSE RENAME copyright.llhttp DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime)
install(FILES third_party/tomlc17/LICENSE RENAME copyright.tomlc17 DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime)

# To build with: headers, the static library, pkg-config's file and CMake's.
install(DIRECTORY include/runnel DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development FILES_MATCHING PATTERN "*.h")
install(FILES ${static_dir}/librunnel.a DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)

set(pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH PREFIX_FROM_PC /${pc_dir} /)
string(REGEX REPLACE "/$" "" PREFIX_FROM_PC ${PREFIX_FROM_PC})
list(JOIN RUNNEL_NEEDS_STATIC ", " PC_REQUIRES_PRIVATE)
configure_file(cmake/runnel.pc.in ${CMAKE_BINARY_DIR}/runnel.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/runnel.pc DESTINATION ${pc_dir} COMPONENT development)

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/runnel)
list(TRANSFORM RUNNEL_NEEDS_STATIC REPLACE " " "" OUTPUT_VARIABLE CONFIG_NEEDS_STATIC)
list(JOIN CONFIG_NEEDS_STATIC " " CONFIG_NEEDS_STATIC)
configure_package_config_file(cmake/runnelConfig.cmake.in runnelConfig.cmake
    INSTALL_DESTINATION ${config_dir} PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(runnelConfigVersion.cmake COMPATIBILITY SameMinorVersion) # 0.x: any minor version may break
install(FILES ${CMAKE_BINARY_DIR}/runnelConfig.cmake ${CMAKE_BINARY_DIR}/runnelConfigVersion.cmake
    DESTINATION ${config_dir} COMPONENT development)
install(EXPORT runnel FILE runnelTargets.cmake NAMESPACE runnel:: DESTINATION ${config_dir} COMPONENT development)
