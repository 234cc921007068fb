# The Go wrapper, built by Debian's Go, offline.
find_program(TAILOR_GO go PATHS /usr/bin NO_DEFAULT_PATH)
if(NOT TAILOR_GO)
  tailor_missing_host(go_test go)
  return()
endif()
set(package ${PROJECT_SOURCE_DIR}/bindings/go)
add_custom_command(OUTPUT go_test
  COMMAND ${CMAKE_COMMAND} -E env GO111MODULE=on GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local
    GOCACHE=${CMAKE_CURRENT_BINARY_DIR}/go_cache CGO_ENABLED=1 CGO_CFLAGS=-I${PROJECT_SOURCE_DIR}/api/include
    CGO_LDFLAGS=-L${libraries} ${TAILOR_GO} test -c -o ${CMAKE_CURRENT_BINARY_DIR}/go_test .
  DEPENDS ${package}/go.mod ${package}/tailor.go ${package}/tensor.go ${package}/tailor_test.go tailor_runtime
    ${PROJECT_SOURCE_DIR}/api/include/tailor/runtime.h
  WORKING_DIRECTORY ${package})
add_custom_target(go_host ALL DEPENDS go_test)
tailor_host_test(go_test COMMAND ${CMAKE_CURRENT_BINARY_DIR}/go_test)
