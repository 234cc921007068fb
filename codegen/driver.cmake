tailor_codegen_part(driver LLVM
  SOURCES compile.cc compile_variants.cc describe_program.cc job_pool.cc pack_constants.cc
  LIBS tailor_codegen_lower tailor_codegen_cpu tailor_codegen_gemm tailor_codegen_host tailor_codegen_link tailor_fusion
    tailor_analysis Threads::Threads)
target_compile_definitions(tailor_codegen_driver PRIVATE TAILOR_VERSION="${PROJECT_VERSION}")
