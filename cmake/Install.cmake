# `cmake --install`, and the packages that `cpack` makes: a .deb, and a .tar.gz that runs on other systems, too. ci/wheel.py
# makes a wheel of the .tar.gz, for those who have pip.
#
#   runtime    bin/diogenes; lib/diogenes: what is preloaded, the simulated driver, the discovery; share: documents
#   libraries  lib/diogenes: other projects' libraries that diogenes needs. In the .tar.gz only: a .deb names their packages
#   debug      lib/debug: debug information, by build-id, as debuggers look for it
#
# The installed program finds its parts relative to itself (src/launcher/installed/installation.h).
set(private lib/diogenes)
set(installed_programs diogenes diogenes-discover)
set(installed_libraries diogenes_agent diogenes_gpu_times diogenes_gpu_samples diogenes_python diogenes_values diogenes_prove)

# RPATH and not RUNPATH: it holds for the libraries of these libraries, too.
set_target_properties(diogenes PROPERTIES INSTALL_RPATH "$ORIGIN/../${private}")
set_target_properties(diogenes-discover PROPERTIES INSTALL_RPATH "$ORIGIN")
foreach(program ${installed_programs})
  target_link_options(${program} PRIVATE -Wl,--disable-new-dtags -Wl,--build-id)
  if(NOT DIOGENES_SANITIZE)
    # No C++ runtime of the other machine is needed, and no newer glibc for parts of it that are not used (std::random_device
    # asks for arc4random of 2.36).
    target_link_options(${program} PRIVATE -static-libstdc++ -static-libgcc -Wl,--gc-sections)
  endif()
endforeach()

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME runtime)
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)  # tests and examples are not installed; the target `packages` builds what is
install(TARGETS diogenes RUNTIME_DEPENDENCY_SET needed RUNTIME DESTINATION bin COMPONENT runtime)
install(TARGETS diogenes-discover RUNTIME_DEPENDENCY_SET needed RUNTIME DESTINATION ${private} COMPONENT runtime)
install(TARGETS ${installed_libraries} LIBRARY DESTINATION ${private} COMPONENT runtime)
install(TARGETS diogenes_simulated_driver LIBRARY DESTINATION ${private}/simulated COMPONENT runtime)
# glibc is the other system's; so is the driver.
install(RUNTIME_DEPENDENCY_SET needed
  PRE_EXCLUDE_REGEXES "^(libc|libm|libpthread|libdl|librt|libresolv|libcuda|ld-linux.*)\\.so"
  DESTINATION ${private} COMPONENT libraries)

foreach(folder man bash-completion zsh fish)
  install(DIRECTORY ${DIOGENES_OUTPUT}/share/${folder} DESTINATION share COMPONENT runtime)
endforeach()
# Debian's zsh looks there.
install(FILES ${DIOGENES_OUTPUT}/share/zsh/site-functions/_diogenes DESTINATION share/zsh/vendor-completions COMPONENT runtime)
install(FILES sim/kernels.ptx docs/report-schema.json DESTINATION share/diogenes COMPONENT runtime)
file(GLOB documents CONFIGURE_DEPENDS docs/*.md)
install(FILES README.md CHANGELOG.md ${documents} DESTINATION share/doc/diogenes COMPONENT runtime)
# Where Debian looks for it.
install(FILES LICENSE DESTINATION share/doc/diogenes RENAME copyright COMPONENT runtime)

# Debug information, before anything is stripped.
find_program(OBJCOPY objcopy REQUIRED)
find_program(READELF readelf REQUIRED)
set(debugged ${installed_programs} ${installed_libraries} diogenes_simulated_driver)
foreach(target ${debugged})
  install(CODE "execute_process(COMMAND sh ${CMAKE_SOURCE_DIR}/ci/debug-file.sh \"$<TARGET_FILE:${target}>\"
    \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/lib/debug\" ${READELF} ${OBJCOPY} COMMAND_ERROR_IS_FATAL ANY)" COMPONENT debug)
endforeach()

set(CPACK_PACKAGE_NAME diogenes)
set(CPACK_PACKAGE_VENDOR "The Diogenes authors")
set(CPACK_PACKAGE_CONTACT "The Diogenes authors <diogenes@example.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "finds needless synchronizations and transfers of CUDA programs")
set(CPACK_PACKAGE_DESCRIPTION "Runs an unmodified GPU program several times, watches how CPU and GPU interact, and says which
synchronizations and transfers were not needed, and what removing them would gain.")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_FILE_NAME diogenes-${PROJECT_VERSION}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_PACKAGE_DIRECTORY ${DIOGENES_OUTPUT}/packages)
set(CPACK_PACKAGE_CHECKSUM SHA256)
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR "DEB;TGZ")
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_SOURCE_DIR}/cmake/Packages.cmake)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME diogenes)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SUGGESTS "nvidia-driver-libs")
set(CPACK_DEBIAN_DEBUG_PACKAGE_NAME diogenes-dbgsym)
set(CPACK_DEBIAN_DEBUG_PACKAGE_SECTION debug)
set(CPACK_DEBIAN_DEBUG_PACKAGE_DEPENDS "diogenes (= ${PROJECT_VERSION})")

set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_ARCHIVE_PROGRAM_FILE_NAME diogenes-${PROJECT_VERSION}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_ARCHIVE_SYMBOLS_FILE_NAME diogenes-${PROJECT_VERSION}-${CMAKE_SYSTEM_PROCESSOR}-debug)
set(CPACK_COMPONENT_RUNTIME_GROUP program)
set(CPACK_COMPONENT_LIBRARIES_GROUP program)
set(CPACK_COMPONENT_DEBUG_GROUP symbols)
set(CPACK_COMPONENT_DEBUG_DESCRIPTION "Debug information of diogenes.")
include(CPack)

# The .deb, the .tar.gz and the wheel that is made of it, in build/packages.
add_custom_target(packages
  COMMAND ${CMAKE_CPACK_COMMAND} --config ${CMAKE_BINARY_DIR}/CPackConfig.cmake
  COMMAND ${CMAKE_SOURCE_DIR}/ci/wheel.py ${CPACK_PACKAGE_DIRECTORY}/${CPACK_ARCHIVE_PROGRAM_FILE_NAME}.tar.gz ${CPACK_PACKAGE_DIRECTORY}
  WORKING_DIRECTORY ${CMAKE_BINARY_DIR}
  USES_TERMINAL VERBATIM)
add_dependencies(packages ${debugged})
