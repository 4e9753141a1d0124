# Puts the CPU device's headers into a C file as string literals, with what they include from src/.
#
#   luhip_embed_headers(OUTPUT)                   called by CMakeLists.txt, adds the build step
#   cmake -DOUTPUT=.. -P cmake/embed.cmake        the step itself, which reads OUTPUT.list
#
# Paths in the table are relative to src/cpu/include, or to src for the two contracts that kernels share with
# the runtime ("cpu/abi.h", "kernel/markers.h") and for what is read by NVRTC alone ("hip/luhip_cuda.h").

function(luhip_embed_headers output)
  set(source_dir "${CMAKE_CURRENT_SOURCE_DIR}/src")
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE "${source_dir}/cpu/include" "${source_dir}/cpu/include/*")
  list(SORT headers)
  list(TRANSFORM headers PREPEND "${source_dir}/cpu/include/" OUTPUT_VARIABLE files)
  foreach(header cpu/abi.h kernel/markers.h hip/luhip_cuda.h hip/luhip_cuda_half.h)
    list(APPEND headers "${header}")
    list(APPEND files "${source_dir}/${header}")
  endforeach()
  # The list is an input too: a header that is removed must leave the table.
  file(CONFIGURE OUTPUT "${output}.list" CONTENT "set(headers \"${headers}\")\nset(files \"${files}\")\n" @ONLY)
  add_custom_command(
    OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" "-DOUTPUT=${output}" -P "${CMAKE_CURRENT_SOURCE_DIR}/cmake/embed.cmake"
    DEPENDS ${files} "${output}.list" "${CMAKE_CURRENT_SOURCE_DIR}/cmake/embed.cmake"
    COMMENT "Embedding the CPU device's headers"
    VERBATIM)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE)
  include("${OUTPUT}.list")
  set(text "/* Made by cmake/embed.cmake. */\n#include \"cpu/device_headers.h\"\n\n#include <stddef.h>\n\n")
  string(APPEND text "const struct device_header luhip_device_headers[] = {\n")
  foreach(header file IN ZIP_LISTS headers files)
    file(READ "${file}" content)
    file(SIZE "${file}" size)
    # One literal a line, so that none grows long; \? keeps trigraphs away.
    string(REPLACE "\\" "\\\\" content "${content}")
    string(REPLACE "\"" "\\\"" content "${content}")
    string(REPLACE "?" "\\?" content "${content}")
    string(REPLACE "\n" "\\n\"\n     \"" content "${content}")
    string(APPEND text "    {\"${header}\",\n     \"${content}\",\n     ${size}},\n")
  endforeach()
  string(APPEND text "    {NULL, NULL, 0},\n};\n")
  file(WRITE "${OUTPUT}" "${text}")
endif()
