# A Debian package of what `cmake --install` puts down: `scripts/package`, or `cpack -G DEB` in a build with prefix /usr.
set(CPACK_PACKAGE_NAME luhip)
set(CPACK_PACKAGE_VENDOR "luhip")
set(CPACK_PACKAGE_CONTACT "luhip <luhip@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_DESCRIPTION
    "Compiles HIP C++ kernels at run time, and launches, times and tunes them from Lua 5.4: on AMD and NVIDIA GPUs where
 their drivers are, and on an embedded CPU device everywhere. This package holds the luhip command, the Lua module, and
 the C library with its header.")
set(CPACK_RESOURCE_FILE_LICENSE "${CMAKE_CURRENT_SOURCE_DIR}/LICENSE")
set(CPACK_PACKAGING_INSTALL_PREFIX "${CMAKE_INSTALL_PREFIX}")
set(CPACK_GENERATOR DEB)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libs)
# What is needed to run; a GPU's driver is found when it is there. gcc's and clang's libraries come with clang-19.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= 2.36), libdeflate0, lua5.4, clang-19, lua-argparse, lua-dkjson")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libedit2")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libamdhip64-dev, liblua5.4-dev, lua-sql-postgres, pkg-config")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/triggers" "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA "${CMAKE_CURRENT_BINARY_DIR}/triggers")
include(CPack)
