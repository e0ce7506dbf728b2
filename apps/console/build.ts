import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { build } from 'esbuild';

/**
 * Builds the operator's console into `dist/`: a page, and files that are named for their content, so that browsers keep
 * them. `npm ci` runs it. The folder is complete or it is not there.
 */

const FOLDER = import.meta.dirname;
const DIST = path.join(FOLDER, 'dist');
const BASE = '/console/';

const { outputFiles, metafile } = await build({
  absWorkingDir: FOLDER,
  entryPoints: { console: 'src/main.tsx', style: 'src/style.css', icon: 'src/icon.svg' },
  outdir: 'dist',
  entryNames: 'assets/[name]-[hash]',
  loader: { '.svg': 'copy' },
  bundle: true,
  minify: true,
  write: false,
  metafile: true,
  format: 'esm',
  target: ['chrome123', 'firefox128', 'safari17.5'],
  charset: 'utf8',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'none',
  logLevel: 'warning',
});

const addressOf = (entry: string): string => {
  const found = Object.entries(metafile.outputs).find(([, output]) => output.entryPoint === entry)?.[0];
  const name = found ?? Object.keys(metafile.outputs).find((output) => output.endsWith(path.extname(entry)));
  if (name === undefined) throw new Error(`nothing was built from ${entry}`);
  return BASE + path.posix.relative('dist', name);
};

const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <title>Tiba</title>
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <link rel="icon" href="${addressOf('src/icon.svg')}">
    <link rel="stylesheet" href="${addressOf('src/style.css')}">
    <script type="module" src="${addressOf('src/main.tsx')}"></script>
  </head>
  <body>
    <div id="app"></div>
    <noscript>The console needs JavaScript.</noscript>
  </body>
</html>
`;

// Not a private folder of `mkdtemp`: the service may run as another user than npm.
const built = path.join(FOLDER, `dist-${process.pid}`);
await mkdir(path.join(built, 'assets'), { recursive: true });
for (const { path: file, contents } of outputFiles) {
  await writeFile(path.join(built, path.relative(DIST, file)), contents);
}
await writeFile(path.join(built, 'index.html'), page);
await rm(DIST, { recursive: true, force: true });
await rename(built, DIST);
