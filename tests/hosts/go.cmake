# The Go wrapper, built by Debian's Go, offline.
find_program(TAILOR_GO go PATHS /usr/bin NO_DEFAULT_PATH)
if(NOT TAILOR_GO)
  foreach(name go_test go_graph_test go_onnx_test go_compile_onnx go_custom_operator)
    tailor_missing_host(${name} go)
  endforeach()
  return()
endif()
set(module ${PROJECT_SOURCE_DIR}/bindings/go)
set(includes -I${PROJECT_SOURCE_DIR}/api/include -I${PROJECT_SOURCE_DIR}/bindings/onnx/include)
list(JOIN includes " " includes)
file(GLOB go_sources CONFIGURE_DEPENDS ${module}/*.go)
file(GLOB go_graph_sources CONFIGURE_DEPENDS ${module}/graph/*.go)
file(GLOB go_onnx_sources CONFIGURE_DEPENDS ${module}/onnx/*.go)
file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/api/include/tailor/*.h
  ${PROJECT_SOURCE_DIR}/bindings/onnx/include/tailor/*.h)

# tailor_go(<name> VERB <test -c|build> PACKAGE <folder of the module> DEPENDS <...>): a program of one package: one after
# the other for the sake of their common cache.
function(tailor_go name)
  cmake_parse_arguments(arg "" "PACKAGE" "VERB;DEPENDS" ${ARGN})
  add_custom_command(OUTPUT ${name}
    COMMAND ${CMAKE_COMMAND} -E env GO111MODULE=on GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local
      GOCACHE=${CMAKE_CURRENT_BINARY_DIR}/go_cache CGO_ENABLED=1 "CGO_CFLAGS=${includes}"
      CGO_LDFLAGS=-L${libraries} ${TAILOR_GO} ${arg_VERB} -o ${CMAKE_CURRENT_BINARY_DIR}/${name} ${arg_PACKAGE}
    DEPENDS ${module}/go.mod ${go_sources} ${headers} tailor_runtime ${arg_DEPENDS}
    WORKING_DIRECTORY ${module} VERBATIM)
endfunction()
function(tailor_go_test name)
  tailor_go(${name} VERB test -c ${ARGN})
  tailor_host_test(${name} COMMAND ${CMAKE_CURRENT_BINARY_DIR}/${name})
endfunction()
tailor_go_test(go_test PACKAGE .)
tailor_go_test(go_graph_test PACKAGE ./graph DEPENDS ${go_graph_sources} go_test tailor)
# On the GPU that the emulator plays, where tests ask for one.
set_property(TEST go_graph_test APPEND PROPERTY ENVIRONMENT TAILOR_CUDA_DRIVER=$<TARGET_FILE:tailor_fake_cuda>)
set(onnx_sources ${go_graph_sources} ${go_onnx_sources} tailor tailor_onnx)
tailor_go_test(go_onnx_test PACKAGE ./onnx DEPENDS ${onnx_sources} go_graph_test)
tailor_reads_models(go_onnx_test)
tailor_go(go_compile_onnx VERB build PACKAGE ./examples/compile_onnx
  DEPENDS ${onnx_sources} ${module}/examples/compile_onnx/main.go go_onnx_test)
tailor_onnx_example(go_compile_onnx "^\\[2 4\\] \\[1 2 3 4 1 2 3 4\\]\n$")
tailor_go(go_custom_operator VERB build PACKAGE ./examples/custom_operator
  DEPENDS ${go_graph_sources} tailor ${module}/examples/custom_operator/main.go go_compile_onnx)
tailor_host_test(go_custom_operator COMMAND ${CMAKE_CURRENT_BINARY_DIR}/go_custom_operator)
set_tests_properties(go_custom_operator PROPERTIES PASS_REGULAR_EXPRESSION
  "^\\[5 15 -10 -15 15\\] clamped at \\[1 3\\]\n\\[10 15\\] clamped at \\[1\\]\n$")
add_custom_target(go_host ALL DEPENDS go_test go_graph_test go_onnx_test go_compile_onnx go_custom_operator)
