# A slice of the rows on the emulator, but for random graphs, which the fuzz tests run, and DeepBench, which is as gpu-4:
# every 170th ONNX case, the tests of sessions, small shapes of each kind. Passes where gpu-check does and says of every
# time that it is the emulator's.
set(ENV{PYTHONDONTWRITEBYTECODE} 1)
set(ENV{TAILOR_LIBRARY_DIR} ${LIBRARIES})
set(ENV{PYTHONPATH} ${ROOT}/bindings/python:${ROOT}/tests/support)
execute_process(COMMAND ${PYTHON} ${ROOT}/tests/conformance/export_cases.py ${FOLDER}/slice.cases --slice 5/170
  COMMAND_ERROR_IS_FATAL ANY)
set(ENV{PYTHONPATH} ${ROOT}/bench)
set(ENV{TAILOR_CUDA_DRIVER} ${DRIVER})
execute_process(
  COMMAND ${PYTHON} -S -m side_by_side.gpu_check --program ${PROGRAM} --cases ${FOLDER}/slice.cases
    --regressions ${ROOT}/tests/fuzz/regressions --suites "CudaSession*" --only gpu-1 --only gpu-2 --only gpu-4
    --only gpu-6 --only gpu-7 --only gpu-8 --only gpu-9 --only gpu-10 --only gpu-11 --json ${FOLDER}/gpu.json
  COMMAND_ERROR_IS_FATAL ANY)
file(READ ${FOLDER}/gpu.json figures)
string(JSON count LENGTH ${figures} metrics)
math(EXPR last "${count} - 1")
set(played 0)
set(counted 0)
foreach(i RANGE ${last})
  string(JSON name GET ${figures} metrics ${i} name)
  string(JSON unit GET ${figures} metrics ${i} unit)
  if(unit STREQUAL "kernels")
    string(JSON met GET ${figures} metrics ${i} met)
    if(NOT met)
      message(FATAL_ERROR "${name} of the encoder are too many: ${figures}")
    endif()
    math(EXPR counted "${counted} + 1")
    continue()
  endif()
  string(JSON kind TYPE ${figures} metrics ${i} value)
  if(kind STREQUAL "NULL")
    string(JSON reason GET ${figures} metrics ${i} reason)
    if(reason MATCHES "the emulator plays the GPU")
      math(EXPR played "${played} + 1")
    endif()
  elseif(NOT unit STREQUAL "cases")
    message(FATAL_ERROR "${name} is a figure of the emulator's")
  endif()
endforeach()
if(NOT played EQUAL 20 OR NOT counted EQUAL 2)
  message(FATAL_ERROR "${played} things were measured and ${counted} counted, not 20 and 2: ${figures}")
endif()
