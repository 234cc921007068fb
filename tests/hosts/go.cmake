# The Go wrapper and the service, built by Debian's Go, offline.
find_program(TAILOR_GO go PATHS /usr/bin NO_DEFAULT_PATH)
if(NOT TAILOR_GO)
  foreach(name go_test go_graph_test go_onnx_test go_race_test go_graph_race_test go_compile_onnx go_custom_operator go_service_test
      go_service_race_test go_service_array_test go_vet go_module_test)
    tailor_missing_host(${name} go)
  endforeach()
  return()
endif()
set(module ${PROJECT_SOURCE_DIR}/bindings/go)
set(service ${PROJECT_SOURCE_DIR}/examples/service)
set(host ${PROJECT_SOURCE_DIR}/examples/hosts/go)
set(includes -I${PROJECT_SOURCE_DIR}/api/include -I${PROJECT_SOURCE_DIR}/bindings/onnx/include)
list(JOIN includes " " includes)
file(GLOB go_sources CONFIGURE_DEPENDS ${module}/*.go)
file(GLOB go_graph_sources CONFIGURE_DEPENDS ${module}/graph/*.go)
file(GLOB go_onnx_sources CONFIGURE_DEPENDS ${module}/onnx/*.go)
file(GLOB_RECURSE go_service_sources CONFIGURE_DEPENDS ${service}/*.go ${service}/go.mod)
file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/api/include/tailor/*.h
  ${PROJECT_SOURCE_DIR}/bindings/onnx/include/tailor/*.h)
# The tag takes the folders from CGO_CFLAGS and CGO_LDFLAGS instead of from pkg-config.
set(go_environment GO111MODULE=on "GOFLAGS=-mod=mod -tags=tailor_env" GOPROXY=off GOTOOLCHAIN=local
  GOCACHE=${CMAKE_CURRENT_BINARY_DIR}/go_cache CGO_ENABLED=1 "CGO_CFLAGS=${includes}" CGO_LDFLAGS=-L${libraries})

# tailor_go(<name> VERB <test -c|build> PACKAGE <folder> [IN <folder of its module>] DEPENDS <...>): a program of one package: one
# after the other for the sake of their common cache.
function(tailor_go name)
  cmake_parse_arguments(arg "" "PACKAGE;IN" "VERB;DEPENDS" ${ARGN})
  if(NOT arg_IN)
    set(arg_IN ${module})
  endif()
  add_custom_command(OUTPUT ${name}
    COMMAND ${CMAKE_COMMAND} -E env ${go_environment} ${TAILOR_GO} ${arg_VERB} -o ${CMAKE_CURRENT_BINARY_DIR}/${name}
      ${arg_PACKAGE}
    DEPENDS ${module}/go.mod ${go_sources} ${headers} tailor_runtime ${arg_DEPENDS}
    WORKING_DIRECTORY ${arg_IN} VERBATIM)
endfunction()
# tailor_go_test(<name> [ARGUMENTS <one, of the test program>] [RACE] ...): as tailor_go, without VERB.
function(tailor_go_test name)
  cmake_parse_arguments(arg "RACE" "ARGUMENTS" "" ${ARGN})
  if(arg_RACE)
    list(APPEND arg_UNPARSED_ARGUMENTS VERB test -race -c)
  else()
    list(APPEND arg_UNPARSED_ARGUMENTS VERB test -c)
  endif()
  tailor_go(${name} ${arg_UNPARSED_ARGUMENTS})
  tailor_host_test(${name} COMMAND ${CMAKE_CURRENT_BINARY_DIR}/${name} ${arg_ARGUMENTS})
endfunction()
tailor_go_test(go_test PACKAGE .)
tailor_go(go_encoder VERB build PACKAGE . IN ${host} DEPENDS ${host}/encoder.go ${host}/go.mod go_test)
tailor_go_test(go_graph_test PACKAGE ./graph DEPENDS ${go_graph_sources} go_encoder tailor)
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

# The service, and a short load.
tailor_go_test(go_service_test PACKAGE . IN ${service} DEPENDS ${onnx_sources} ${go_service_sources} go_custom_operator)
tailor_reads_models(go_service_test)
tailor_go_test(go_service_array_test PACKAGE ./array IN ${service} DEPENDS ${go_service_sources} go_service_test)
tailor_go(go_service VERB build PACKAGE . IN ${service} DEPENDS ${onnx_sources} ${go_service_sources} go_service_array_test)
tailor_go(go_loadgen VERB build PACKAGE ./loadgen IN ${service} DEPENDS ${go_service_sources} go_service)

# Go's race detector.
tailor_go_test(go_race_test RACE PACKAGE . DEPENDS go_loadgen)
tailor_go_test(go_graph_race_test RACE ARGUMENTS -test.run=Misuse|AnyTime PACKAGE ./graph
  DEPENDS ${go_graph_sources} tailor go_race_test)
tailor_go_test(go_service_race_test RACE ARGUMENTS -test.run=Alone|Reloads|Clients PACKAGE . IN ${service}
  DEPENDS ${onnx_sources} ${go_service_sources} go_graph_race_test)

add_test(NAME go_vet COMMAND ${CMAKE_COMMAND} -E env ${go_environment}
  sh -c "${TAILOR_GO} vet ./... && cd ${service} && ${TAILOR_GO} vet ./... && cd ${host} && ${TAILOR_GO} vet ./..." WORKING_DIRECTORY ${module})
# The module from a proxy of files, vendored, and static.
if(TARGET tailor_runtime_static)
  set(static ${CMAKE_BINARY_DIR}/lib/libtailor_runtime.a)
endif()
tailor_host_test(go_module_test COMMAND ${CMAKE_COMMAND} -E env GOCACHE=${CMAKE_CURRENT_BINARY_DIR}/go_cache ${TAILOR_PYTHON}
  ${CMAKE_CURRENT_SOURCE_DIR}/go_module_test.py ${PROJECT_VERSION} ${artifact} ${libraries} ${static})
add_custom_target(go_host ALL DEPENDS go_service_race_test)
