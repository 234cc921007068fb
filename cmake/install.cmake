# cmake --install: components runtime, compiler, onnx, onednn (where it is built), cli, dev. Any of them may be installed
# alone, and the prefix may be moved afterwards: libraries find each other, and programs find libraries, by $ORIGIN.
include(CMakePackageConfigHelpers)
set(documents ${CMAKE_INSTALL_DATADIR}/doc/tailor)
set(packages ${CMAKE_INSTALL_LIBDIR}/cmake/Tailor)

# tailor_install_library(<target> <component> <name of the imported target>): the library, and its plain .so for linkers.
function(tailor_install_library target component name)
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  add_library(Tailor::${name} ALIAS ${target})
  install(TARGETS ${target} EXPORT Tailor_${name}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${component} NAMELINK_COMPONENT dev
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT Tailor_${name} NAMESPACE Tailor:: DESTINATION ${packages} COMPONENT dev)
endfunction()
tailor_install_library(tailor_runtime runtime runtime)
tailor_install_library(tailor compiler compiler)
tailor_install_library(tailor_onnx onnx onnx)
if(TARGET tailor_onednn)
  tailor_install_library(tailor_onednn onednn onednn)
endif()

# Programs: tailor, and the worker of isolated compilation.
function(tailor_install_program target component folder)
  file(RELATIVE_PATH libraries ${CMAKE_INSTALL_PREFIX}/${folder} ${CMAKE_INSTALL_FULL_LIBDIR})
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN/${libraries}")
  install(TARGETS ${target} RUNTIME DESTINATION ${folder} COMPONENT ${component})
endfunction()
tailor_install_program(tailor_compile_worker compiler ${CMAKE_INSTALL_LIBEXECDIR}/tailor)
tailor_install_program(tailor_tool cli ${CMAKE_INSTALL_BINDIR})

# Headers, the static runtime, CMake and pkg-config packages, examples.
set(includes api/include/tailor bindings/onnx/include/tailor)
if(TARGET tailor_onednn)
  list(APPEND includes bindings/onednn/tailor)
endif()
install(DIRECTORY ${includes} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev
  FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
if(TARGET tailor_runtime_static)
  install(FILES ${CMAKE_BINARY_DIR}/lib/libtailor_runtime.a DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
endif()
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/TailorConfig.cmake.in ${CMAKE_BINARY_DIR}/cmake/TailorConfig.cmake
  INSTALL_DESTINATION ${packages} PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
# Before 1.0 a minor version may break source code; the SONAME counts breaks of the ABI.
write_basic_package_version_file(${CMAKE_BINARY_DIR}/cmake/TailorConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/cmake/TailorConfig.cmake ${CMAKE_BINARY_DIR}/cmake/TailorConfigVersion.cmake
  DESTINATION ${packages} COMPONENT dev)

file(RELATIVE_PATH pc_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
function(tailor_pkg_config name description requires libraries)
  configure_file(${CMAKE_CURRENT_FUNCTION_LIST_DIR}/pkgconfig.pc.in ${CMAKE_BINARY_DIR}/cmake/${name}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/cmake/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
endfunction()
tailor_pkg_config(tailor-runtime "Runs programs that the Tailor compiler saved" "" "-L\${libdir} -ltailor_runtime")
tailor_pkg_config(tailor "Compiles tensor graphs over symbolic shapes" tailor-runtime "-L\${libdir} -ltailor")
tailor_pkg_config(tailor-onnx "ONNX models as graphs of the Tailor compiler" tailor "-L\${libdir} -ltailor_onnx")
if(TARGET tailor_runtime_static)
  tailor_pkg_config(tailor-runtime-static "The Tailor runtime, linked into the program" ""
    "\${libdir}/libtailor_runtime.a -lstdc++ -lm -pthread -ldl")
endif()
install(DIRECTORY bindings/c/examples DESTINATION ${documents} COMPONENT dev FILES_MATCHING PATTERN "*.c")

# Licenses: ours, and those of what is inside a library, as Debian's packages have them.
function(tailor_install_licenses component)
  foreach(package ${ARGN})
    if(EXISTS /usr/share/doc/${package}/copyright)
      install(FILES /usr/share/doc/${package}/copyright DESTINATION ${documents}/licenses RENAME ${package}
        COMPONENT ${component})
    endif()
  endforeach()
endfunction()
install(FILES LICENSE DESTINATION ${documents} COMPONENT runtime)
tailor_install_licenses(runtime libsodium-dev libflatbuffers-dev)
tailor_install_licenses(compiler libabsl-dev llvm-19-dev libzstd-dev zlib1g-dev)
tailor_install_licenses(onnx libprotozero-dev)
