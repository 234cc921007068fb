# cmake --install: components runtime, compiler, onnx, onednn (where it is built), cli, dev, python. Any of them may be installed
# alone, and the prefix may be moved afterwards: libraries find each other, and programs find libraries, by $ORIGIN.
include(CMakePackageConfigHelpers)
set(packages ${CMAKE_INSTALL_LIBDIR}/cmake/Tailor)

# tailor_install_library(<target> <component> <component of what a build needs> <name of the imported target>): the library,
# and for builds its plain .so and its target.
function(tailor_install_library target component dev name)
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  add_library(Tailor::${name} ALIAS ${target})
  install(TARGETS ${target} EXPORT Tailor_${name}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${component} NAMELINK_COMPONENT ${dev}
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT Tailor_${name} NAMESPACE Tailor:: DESTINATION ${packages} COMPONENT ${dev})
endfunction()
tailor_install_library(tailor_runtime runtime dev runtime)
if(TAILOR_COMPILER)
  tailor_install_library(tailor compiler dev compiler)
  tailor_install_library(tailor_onnx onnx dev onnx)
endif()
if(TARGET tailor_onednn)  # whole: dev must not need oneDNN
  tailor_install_library(tailor_onednn onednn onednn onednn)
  install(FILES bindings/onednn/tailor/onednn.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tailor COMPONENT onednn)
endif()

# Programs: tailor, and the worker of isolated compilation.
function(tailor_install_program target component folder)
  file(RELATIVE_PATH libraries ${CMAKE_INSTALL_PREFIX}/${folder} ${CMAKE_INSTALL_FULL_LIBDIR})
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN/${libraries}")
  install(TARGETS ${target} RUNTIME DESTINATION ${folder} COMPONENT ${component})
endfunction()
if(TAILOR_COMPILER)
  tailor_install_program(tailor_compile_worker compiler ${CMAKE_INSTALL_LIBEXECDIR}/tailor)
  tailor_install_program(tailor_tool cli ${CMAKE_INSTALL_BINDIR})
  install(DIRECTORY ${CMAKE_BINARY_DIR}/share/ DESTINATION ${CMAKE_INSTALL_DATADIR} COMPONENT cli)  # man pages, completion
endif()

# The Python package, where Debian's Python looks for it. Wheels have it too (tools/build_wheel.py).
install(DIRECTORY bindings/python/tailor DESTINATION lib/python3/dist-packages COMPONENT python
  FILES_MATCHING PATTERN "*.py" PATTERN py.typed PATTERN __pycache__ EXCLUDE)

# Headers, the static runtime, CMake and pkg-config packages, examples.
install(DIRECTORY api/include/tailor bindings/onnx/include/tailor DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev
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
if(TAILOR_COMPILER)
  tailor_pkg_config(tailor "Compiles tensor graphs over symbolic shapes" tailor-runtime "-L\${libdir} -ltailor")
  tailor_pkg_config(tailor-onnx "ONNX models as graphs of the Tailor compiler" tailor "-L\${libdir} -ltailor_onnx")
endif()
if(TARGET tailor_runtime_static)
  tailor_pkg_config(tailor-runtime-static "The Tailor runtime, linked into the program" ""
    "\${libdir}/libtailor_runtime.a -lstdc++ -lm -pthread -ldl")
endif()
install(DIRECTORY bindings/c/examples DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/tailor-dev COMPONENT dev FILES_MATCHING PATTERN "*.c")

# tailor_install_licenses(<component> <folder in share/doc> <Debian packages...>): our license where Debian looks for it, and
# those of what is inside.
function(tailor_install_licenses component name)
  set(folder ${CMAKE_INSTALL_DATADIR}/doc/${name})
  install(FILES LICENSE DESTINATION ${folder} RENAME copyright COMPONENT ${component})
  foreach(package ${ARGN})
    if(EXISTS /usr/share/doc/${package}/copyright)
      install(FILES /usr/share/doc/${package}/copyright DESTINATION ${folder}/licenses RENAME ${package}
        COMPONENT ${component})
    endif()
  endforeach()
endfunction()
tailor_install_licenses(runtime tailor-runtime libsodium-dev libflatbuffers-dev)
if(TAILOR_COMPILER)
  tailor_install_licenses(compiler tailor llvm-19-dev libabsl-dev libsodium-dev libflatbuffers-dev)
  tailor_install_licenses(onnx tailor-onnx libprotozero-dev)
  tailor_install_licenses(cli tailor-cli libcli11-dev nlohmann-json3-dev libabsl-dev)
endif()
tailor_install_licenses(dev tailor-dev libsodium-dev libflatbuffers-dev)
tailor_install_licenses(python python3-tailor)
if(TARGET tailor_onednn)
  tailor_install_licenses(onednn tailor-onednn)
endif()

# All that is installed: cmake --build . --target tailor_installed.
add_custom_target(tailor_installed DEPENDS tailor_runtime)
foreach(target tailor_runtime_static tailor tailor_compile_worker tailor_onnx tailor_tool tool_texts tailor_onednn)
  if(TARGET ${target})
    add_dependencies(tailor_installed ${target})
  endif()
endforeach()
