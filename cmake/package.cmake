# cpack -G DEB: a package for each component (./dev package). SOURCE_DATE_EPOCH has to be set for equal bytes.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tailor)
set(CPACK_PACKAGE_VENDOR "Tailor")
set(CPACK_PACKAGE_CONTACT "The Tailor maintainers <maintainers@tailor.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "tensor compiler for dynamic shapes")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/same_times.cmake)

set(CPACK_COMPONENTS_ALL runtime compiler onnx cli dev python)
if(TARGET tailor_onednn)
  list(APPEND CPACK_COMPONENTS_ALL onednn)
endif()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_CLI_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR}/lib)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
# What other packages depend on if they link these libraries: this version or a later one of the same ABI.
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")

# A package of one Debian is older than the same of the next: 0.1.0-1~deb12.
set(release 1)
if(EXISTS /etc/os-release)
  file(STRINGS /etc/os-release id REGEX "^VERSION_ID=")
  if(id MATCHES "([0-9.]+)")
    set(release 1~deb${CMAKE_MATCH_1})
  endif()
endif()
set(CPACK_DEBIAN_PACKAGE_RELEASE ${release})

# tailor_deb(<component> <package> <packages of the same version that it needs> <description>)
function(tailor_deb component package needs description)
  string(TOUPPER ${component} upper)
  set(depends "")
  foreach(need ${needs})
    list(APPEND depends "${need} (= ${PROJECT_VERSION}-${release})")
  endforeach()
  list(JOIN depends ", " depends)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${package} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${depends}" PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "${description}" PARENT_SCOPE)
endfunction()
tailor_deb(runtime tailor-runtime ""
  "The runtime: a library of less than 1 MB, without a compiler, that loads and runs saved programs at any shape.")
tailor_deb(compiler tailor "tailor-runtime"
  "The compiler: compiles a graph whose dims are symbols once, for every shape. LLVM is inside.")
tailor_deb(onnx tailor-onnx "tailor;tailor-runtime" "The ONNX front end: models as graphs over symbolic shapes.")
tailor_deb(onednn tailor-onednn "tailor-runtime" "A matmul provider: oneDNN computes the matmuls that programs offer.")
tailor_deb(cli tailor-cli "tailor-onnx;tailor;tailor-runtime"
  "The command line tool: compiles models and graph texts, runs and describes saved programs.")
tailor_deb(dev tailor-dev "tailor-onnx;tailor;tailor-runtime"
  "For programs that use Tailor: headers, the static runtime, CMake and pkg-config packages, examples in C.")
tailor_deb(python python3-tailor "tailor-runtime"
  "The Python binding: loads and runs saved programs; with the package tailor it builds and compiles graphs, with
 tailor-onnx it loads ONNX models.")
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
string(APPEND CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS ", python3 (>= 3.9), python3-numpy (>= 1:1.21)")
set(CPACK_DEBIAN_PYTHON_PACKAGE_RECOMMENDS "tailor-onnx (= ${PROJECT_VERSION}-${release})")
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA
  ${CMAKE_CURRENT_LIST_DIR}/python/postinst ${CMAKE_CURRENT_LIST_DIR}/python/prerm)
include(CPack)
