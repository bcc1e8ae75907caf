# The page of the report: its script and style, bundled from src/views/web with libraries from npm (versions:
# package-lock.json), into ${DIOGENES_WEB}/page.js and page.css. npm's own configuration says where from.
include_guard(GLOBAL)
find_program(DIOGENES_NODE NAMES node nodejs)
find_program(DIOGENES_NPM npm)
if(NOT DIOGENES_NODE OR NOT DIOGENES_NPM)
  message(FATAL_ERROR "node or npm is missing, which bundle the report's web page: run ci/install-packages.sh build")
endif()
set(DIOGENES_WEB_SOURCE ${CMAKE_SOURCE_DIR}/src/views/web)
set(DIOGENES_WEB ${CMAKE_BINARY_DIR}/web)

# npm_packages(SOURCE FOLDER): FOLDER/node_modules as SOURCE/package-lock.json says; made anew when that changes.
function(npm_packages source folder)
  add_custom_command(OUTPUT ${folder}/packages.stamp
    COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
    COMMAND ${CMAKE_COMMAND} -E copy ${source}/package.json ${source}/package-lock.json ${folder}
    COMMAND ${DIOGENES_NPM} ci --prefix ${folder} --ignore-scripts --no-audit --no-fund --no-update-notifier --loglevel=error
    COMMAND ${CMAKE_COMMAND} -E touch ${folder}/packages.stamp
    DEPENDS ${source}/package.json ${source}/package-lock.json
    COMMENT "Fetching npm packages of ${source}" VERBATIM)
endfunction()

npm_packages(${DIOGENES_WEB_SOURCE} ${DIOGENES_WEB})
file(GLOB web_sources CONFIGURE_DEPENDS ${DIOGENES_WEB_SOURCE}/*.ts ${DIOGENES_WEB_SOURCE}/*.css ${DIOGENES_WEB_SOURCE}/*.json
  ${DIOGENES_WEB_SOURCE}/*.mjs)
add_custom_command(OUTPUT ${DIOGENES_WEB}/page.js ${DIOGENES_WEB}/page.css
  COMMAND ${CMAKE_COMMAND} -E copy ${DIOGENES_WEB_SOURCE}/build.mjs ${DIOGENES_WEB}/build.mjs
  COMMAND ${DIOGENES_NODE} ${DIOGENES_WEB}/build.mjs ${DIOGENES_WEB_SOURCE} ${DIOGENES_WEB}
  DEPENDS ${DIOGENES_WEB}/packages.stamp ${web_sources}
  COMMENT "Bundling the web page" VERBATIM)
