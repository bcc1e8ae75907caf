// Bundles the page's script and style into one file each: build.mjs SOURCES FOLDER. FOLDER has node_modules and a copy
// of this file, so that no packages lie among the sources, and gets page.js and page.css. The build of the diogenes
// program calls it, and puts what it writes into the program (web_bundle.S).
import { build } from 'esbuild'
import { join } from 'node:path'

const [sources, output] = process.argv.slice(2)
const modules = join(output, 'node_modules')
const common = {
  bundle: true,
  minify: true,
  charset: 'ascii', // whatever the page is taken to be written in
  legalComments: 'inline', // of libraries
  nodePaths: [modules],
  target: ['chrome100', 'firefox100', 'safari15.4'],
  logLevel: 'warning',
}
await build({
  ...common,
  entryPoints: [join(sources, 'main.ts')],
  outfile: join(output, 'page.js'),
  format: 'iife',
  keepNames: true, // d3-flame-graph asks for one
  tsconfig: join(sources, 'tsconfig.json'),
})
await build({ ...common, entryPoints: [join(sources, 'page.css')], outfile: join(output, 'page.css') })
