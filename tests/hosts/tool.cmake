# The command line tool.
foreach(name tool_test tool_run_test tool_bench_test tool_keys_test tool_texts_test)
  add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -E env PYTHONDONTWRITEBYTECODE=1 ${TAILOR_PYTHON}
    ${CMAKE_CURRENT_SOURCE_DIR}/${name}.py $<TARGET_FILE:tailor_tool> $<TARGET_FILE:tailor_fake_cuda>)
endforeach()
