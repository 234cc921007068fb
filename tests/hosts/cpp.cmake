# The C++ layer: as C++17 and as C++20, with warnings as errors, and without the flags of Tailor's own sources.
set(cpp_flags -Wall -Wextra -Wpedantic -Werror)

# tailor_cpp_program(<name> <standard> SOURCES <...> LIBS <...>)
function(tailor_cpp_program name standard)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES CXX_STANDARD ${standard} UNITY_BUILD OFF)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_options(${name} PRIVATE ${cpp_flags} $<$<NOT:$<CONFIG:Debug>>:-O1>)
  target_link_libraries(${name} PRIVATE ${arg_LIBS})
endfunction()

# tailor/runtime.hpp must not need more than libtailor_runtime.
set(cpp_libs_runtime tailor_runtime)
set(cpp_libs_graph tailor tailor_runtime)
set(cpp_libs_executor tailor tailor_runtime)
set(cpp_libs_misuse tailor tailor_runtime)
set(cpp_libs_onnx tailor_onnx tailor tailor_runtime)
foreach(standard 17 20)
  foreach(half runtime graph executor misuse onnx)
    set(name cpp${standard}_${half}_test)
    tailor_cpp_program(${name} ${standard} SOURCES cpp_${half}_test.cc LIBS ${cpp_libs_${half}} GTest::gtest GTest::gtest_main)
    tailor_host_test(${name} COMMAND ${name})
  endforeach()
  tailor_reads_models(cpp${standard}_onnx_test)
endforeach()

# Two units of different standards, with and without exceptions and run-time types.
foreach(mode exceptions no_exceptions)
  add_library(cpp_second_unit_${mode} OBJECT cpp_second_unit.cc)
  set_target_properties(cpp_second_unit_${mode} PROPERTIES CXX_STANDARD 20 UNITY_BUILD OFF)
  target_include_directories(cpp_second_unit_${mode} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/api/include)
  tailor_cpp_program(cpp_plain_${mode} 17
    SOURCES cpp_plain_test.cc $<TARGET_OBJECTS:cpp_second_unit_${mode}> LIBS tailor tailor_runtime)
  if(mode STREQUAL no_exceptions)
    set(mode_flags -fno-exceptions -fno-rtti)
  endif()
  target_compile_options(cpp_second_unit_${mode} PRIVATE ${cpp_flags} ${mode_flags})
  target_compile_options(cpp_plain_${mode} PRIVATE ${mode_flags})
  add_test(NAME cpp_plain_${mode} COMMAND cpp_plain_${mode})
endforeach()
add_test(NAME cpp_plain_aborts COMMAND sh -c "$<TARGET_FILE:cpp_plain_no_exceptions> abort; true")
set_tests_properties(cpp_plain_aborts PROPERTIES PASS_REGULAR_EXPRESSION "^tailor::Error: NOT_FOUND: ")

# Each header by itself, with each compiler that is installed.
find_program(TAILOR_CLANGXX clang++)
add_test(NAME cpp_headers COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/cpp_headers.sh ${PROJECT_SOURCE_DIR} ${CMAKE_CXX_COMPILER}
  $<$<BOOL:${TAILOR_CLANGXX}>:${TAILOR_CLANGXX}>)

# Graphs built in C++ and in Python are the same bytes.
tailor_cpp_program(cpp_same_bytes 17 SOURCES cpp_same_bytes.cc LIBS tailor tailor_runtime)
tailor_host_test(cpp_same_bytes_test COMMAND ${TAILOR_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/cpp_same_bytes_test.py
  $<TARGET_FILE:cpp_same_bytes>)
set_property(TEST cpp_same_bytes_test APPEND PROPERTY ENVIRONMENT PYTHONPATH=${PROJECT_SOURCE_DIR}/bindings/python)

# The examples, parts of which the docs show.
function(tailor_cpp_example name)
  tailor_cpp_program(cpp_${name} 17 SOURCES ${PROJECT_SOURCE_DIR}/bindings/cpp/examples/${name}.cc LIBS ${ARGN})
endfunction()
tailor_cpp_example(compile_and_run tailor tailor_runtime)
tailor_host_test(cpp_compile_and_run COMMAND cpp_compile_and_run)
set_tests_properties(cpp_compile_and_run PROPERTIES PASS_REGULAR_EXPRESSION
  "\\[1, 4\\]: 0.002 0.016 0.117 0.865\n\\[2, 4\\]: 0.002 0.016 0.117 0.865 0.250 0.250 0.250 0.250\n")
tailor_cpp_example(run_artifact tailor_runtime)
tailor_host_test(cpp_run_artifact COMMAND cpp_run_artifact ${artifact} 2)
set_tests_properties(cpp_run_artifact PROPERTIES PASS_REGULAR_EXPRESSION
  "input  x f32\\[B, 4\\]\n.*first output \\[2, 4\\]: 1.5 2.5 3.5 4.5 1.5 2.5 3.5 4.5\n")
tailor_cpp_program(cpp_encoder 17 SOURCES ${PROJECT_SOURCE_DIR}/examples/hosts/encoder.cc LIBS tailor_runtime)
tailor_cpp_example(custom_operator tailor tailor_runtime)
tailor_host_test(cpp_custom_operator COMMAND cpp_custom_operator)
set_tests_properties(cpp_custom_operator PROPERTIES PASS_REGULAR_EXPRESSION "N = 2: 2\nN = 5: 2 6 10\n")
tailor_cpp_example(thread_pool tailor tailor_runtime)
tailor_host_test(cpp_thread_pool COMMAND cpp_thread_pool)
set_tests_properties(cpp_thread_pool PROPERTIES PASS_REGULAR_EXPRESSION "^256 256000 1.28e\\+06\n$")
tailor_cpp_example(compile_onnx tailor_onnx tailor tailor_runtime)
tailor_onnx_example(cpp_compile_onnx "^1 2 3 4 1 2 3 4 ")
