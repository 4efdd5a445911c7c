# bench/<name>_bench.cc becomes build/<preset>/<name>_bench. Built by the target "benchmarks" only.

file(GLOB bench_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/*_bench.cc)
add_custom_target(benchmarks)
if(bench_sources)
  find_package(benchmark REQUIRED)
  foreach(source IN LISTS bench_sources)
    cmake_path(GET source STEM name)
    add_executable(${name} EXCLUDE_FROM_ALL ${source})
    target_link_libraries(${name} PRIVATE telltale_simulate telltale_lib
                                          benchmark::benchmark_main benchmark::benchmark)
    add_dependencies(benchmarks ${name})
  endforeach()
endif()

# The published Trace Pair Encoding, which is only compared with.
target_sources(tokens_bench PRIVATE bench/tpe.cc)

# How right the findings are; prints a table.
add_executable(findings_eval EXCLUDE_FROM_ALL bench/findings_eval.cc
               tests/support/findings_campaign.cc tests/support/json_value.cc)
target_link_libraries(findings_eval PRIVATE telltale_simulate telltale_lib)
add_dependencies(benchmarks findings_eval)
