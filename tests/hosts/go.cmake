# The Go wrapper, built by Debian's Go, offline.
find_program(TAILOR_GO go PATHS /usr/bin NO_DEFAULT_PATH)
if(NOT TAILOR_GO)
  tailor_missing_host(go_test go)
  tailor_missing_host(go_graph_test go)
  return()
endif()
set(module ${PROJECT_SOURCE_DIR}/bindings/go)
file(GLOB go_sources CONFIGURE_DEPENDS ${module}/*.go)
file(GLOB go_graph_sources CONFIGURE_DEPENDS ${module}/graph/*.go)
file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/api/include/tailor/*.h)

# tailor_go_test(<name> PACKAGE <folder of the module> DEPENDS <...>): the tests of one package, one after the other
# for the sake of their common cache.
function(tailor_go_test name)
  cmake_parse_arguments(arg "" "PACKAGE" "DEPENDS" ${ARGN})
  add_custom_command(OUTPUT ${name}
    COMMAND ${CMAKE_COMMAND} -E env GO111MODULE=on GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local
      GOCACHE=${CMAKE_CURRENT_BINARY_DIR}/go_cache CGO_ENABLED=1 CGO_CFLAGS=-I${PROJECT_SOURCE_DIR}/api/include
      CGO_LDFLAGS=-L${libraries} ${TAILOR_GO} test -c -o ${CMAKE_CURRENT_BINARY_DIR}/${name} ${arg_PACKAGE}
    DEPENDS ${module}/go.mod ${go_sources} ${headers} tailor_runtime ${arg_DEPENDS}
    WORKING_DIRECTORY ${module})
  tailor_host_test(${name} COMMAND ${CMAKE_CURRENT_BINARY_DIR}/${name})
endfunction()
tailor_go_test(go_test PACKAGE .)
tailor_go_test(go_graph_test PACKAGE ./graph DEPENDS ${go_graph_sources} go_test tailor)
# On the GPU that the emulator plays, where tests ask for one.
set_property(TEST go_graph_test APPEND PROPERTY ENVIRONMENT TAILOR_CUDA_DRIVER=$<TARGET_FILE:tailor_fake_cuda>)
add_custom_target(go_host ALL DEPENDS go_test go_graph_test)
