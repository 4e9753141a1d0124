# What `cmake --install` puts where: the library with its header, pkg-config and find_package files, and the
# Lua module where Lua looks for it without being told (under /usr/local).
include(CMakePackageConfigHelpers)

install(TARGETS luhip_module LIBRARY DESTINATION "${LIBDIR}/luhip")
install(DIRECTORY lua/luhip DESTINATION "${LUADIR}" FILES_MATCHING PATTERN "*.lua")
if(LUHIP_MODULE_ONLY)
  return()
endif()

install(TARGETS luhip_shared luhip_static EXPORT luhip
        LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(FILES src/luhip.h DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")

# Relative to the file itself, so that the tree can be moved.
file(RELATIVE_PATH luhip_pc_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file(cmake/luhip.pc.in "${CMAKE_CURRENT_BINARY_DIR}/luhip.pc" @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/luhip.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

set(luhip_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/luhip")
configure_package_config_file(cmake/luhip-config.cmake.in "${CMAKE_CURRENT_BINARY_DIR}/luhip-config.cmake"
                              INSTALL_DESTINATION "${luhip_package_dir}")
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/luhip-config-version.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/luhip-config.cmake"
              "${CMAKE_CURRENT_BINARY_DIR}/luhip-config-version.cmake"
        DESTINATION "${luhip_package_dir}")
install(EXPORT luhip NAMESPACE luhip:: FILE luhip-targets.cmake DESTINATION "${luhip_package_dir}")

# The command, and what a package has to say of itself.
configure_file(cmake/luhip.sh.in "${CMAKE_CURRENT_BINARY_DIR}/command/luhip" @ONLY)
install(PROGRAMS "${CMAKE_CURRENT_BINARY_DIR}/command/luhip" DESTINATION "${CMAKE_INSTALL_BINDIR}")
# Completion: each shell asks the command itself, so what it completes is what the command has.
set(completions "${CMAKE_CURRENT_BINARY_DIR}/completions")
file(WRITE "${completions}/luhip" "eval \"\$(luhip completions bash)\"\n")
file(WRITE "${completions}/_luhip" "#compdef luhip\neval \"\$(luhip completions zsh)\"\n")
file(WRITE "${completions}/luhip.fish" "luhip completions fish | source\n")
install(FILES "${completions}/luhip" DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
set(zsh_folder site-functions)
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr") # where Debian's zsh looks for what packages bring
  set(zsh_folder vendor-completions)
endif()
install(FILES "${completions}/_luhip" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/${zsh_folder}")
install(FILES "${completions}/luhip.fish" DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")

install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}" RENAME copyright)
install(FILES README.md CHANGELOG.md DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY examples docs DESTINATION "${CMAKE_INSTALL_DOCDIR}" PATTERN generate EXCLUDE)
install(FILES docs/luhip.1 DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
install(FILES docs/luhip.3lua DESTINATION "${CMAKE_INSTALL_MANDIR}/man3")

configure_file(cmake/uninstall.cmake.in "${CMAKE_CURRENT_BINARY_DIR}/uninstall.cmake" @ONLY)
add_custom_target(uninstall COMMAND "${CMAKE_COMMAND}" -P "${CMAKE_CURRENT_BINARY_DIR}/uninstall.cmake" VERBATIM)
