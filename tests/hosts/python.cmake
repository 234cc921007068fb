# The Python wrapper, with the project's virtual environment where ./dev made one, else any python3 with numpy.
set(python ${PROJECT_SOURCE_DIR}/.venv/bin/python)
if(NOT EXISTS ${python})
  find_program(TAILOR_PYTHON python3)
  set(python ${TAILOR_PYTHON})
endif()
foreach(name python_graph_test python_run_test python_runtime_only_test python_semantics_test)
  tailor_host_test(${name} COMMAND ${CMAKE_COMMAND} -E env PYTHONPATH=${PROJECT_SOURCE_DIR}/bindings/python
    PYTHONDONTWRITEBYTECODE=1 ${python} ${CMAKE_CURRENT_SOURCE_DIR}/${name}.py)
endforeach()
add_test(NAME tool_test COMMAND ${python} ${CMAKE_CURRENT_SOURCE_DIR}/tool_test.py $<TARGET_FILE:tailor_tool>)
