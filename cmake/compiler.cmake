# LLVM: headers for codegen, and one target to link (shared here, static into libtailor.so).
add_library(tailor_llvm INTERFACE)
target_include_directories(tailor_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
target_compile_definitions(tailor_llvm INTERFACE ${LLVM_DEFINITIONS_LIST})

# Headers that most of the compiler's sources include are read once for all of them: in two sets, with LLVM's and
# without. (The runtime sees none of these.)
file(CONFIGURE OUTPUT headers.cc CONTENT "")
foreach(target tailor_headers tailor_llvm_headers)
  add_library(${target} STATIC ${CMAKE_CURRENT_BINARY_DIR}/headers.cc)
  target_link_libraries(${target} PRIVATE tailor_options absl::statusor absl::strings absl::flat_hash_map)
  target_precompile_headers(${target} PRIVATE
    <algorithm> <cstdint> <map> <memory> <optional> <string> <utility> <vector>
    <absl/container/flat_hash_map.h> <absl/status/statusor.h> <absl/strings/str_cat.h> <absl/strings/str_join.h>)
endforeach()
target_link_libraries(tailor_llvm_headers PRIVATE tailor_llvm)
target_precompile_headers(tailor_llvm_headers PRIVATE <llvm/IR/IRBuilder.h> <llvm/IR/Module.h> <llvm/IR/Verifier.h>)

# For a library of the compiler, once it is said what it links.
function(tailor_precompiled_headers target)
  get_target_property(libraries ${target} LINK_LIBRARIES)
  if(tailor_llvm IN_LIST libraries)
    target_precompile_headers(${target} REUSE_FROM tailor_llvm_headers)
  else()
    target_precompile_headers(${target} REUSE_FROM tailor_headers)
  endif()
endfunction()

# What a test or tool links besides static Tailor libraries that use LLVM: the shared libLLVM, for short links.
add_library(tailor_llvm_shared INTERFACE)
target_link_libraries(tailor_llvm_shared INTERFACE LLVM)
