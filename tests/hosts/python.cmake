# The Python wrapper.
foreach(name python_exit_test python_graph_test python_indexing_test python_mistakes_test python_misuse_test python_native_test
        python_run_test python_runtime_only_test python_semantics_test python_session_test python_training_test python_types_test
        python_wheel_test)
  tailor_host_test(${name} COMMAND ${CMAKE_COMMAND} -E env PYTHONPATH=${PROJECT_SOURCE_DIR}/bindings/python
    PYTHONDONTWRITEBYTECODE=1 ${TAILOR_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/${name}.py)
endforeach()
# On the GPU that the emulator plays, too.
foreach(name python_custom_test python_device_test python_joins_test python_op_pairs_test)
  tailor_host_test(${name} COMMAND ${CMAKE_COMMAND} -E env PYTHONPATH=${PROJECT_SOURCE_DIR}/bindings/python
    PYTHONDONTWRITEBYTECODE=1 TAILOR_CUDA_DRIVER=$<TARGET_FILE:tailor_fake_cuda>
    ${TAILOR_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/${name}.py)
endforeach()
