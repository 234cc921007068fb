# The toolchain of tools/package/build_runtime.sh: Clang of the PyPI package ziglang, with glibc of TAILOR_ZIG_TARGET or musl.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TAILOR_ZIG_PYTHON TAILOR_ZIG_TARGET)
set(CMAKE_C_COMPILER ${TAILOR_ZIG_PYTHON} -m ziglang cc -target ${TAILOR_ZIG_TARGET})
set(CMAKE_CXX_COMPILER ${TAILOR_ZIG_PYTHON} -m ziglang c++ -target ${TAILOR_ZIG_TARGET})
set(TAILOR_CCACHE "" CACHE STRING "")
set(TAILOR_LLD "" CACHE STRING "")
