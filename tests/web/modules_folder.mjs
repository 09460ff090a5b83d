// tests/web/modules_folder.mjs - a copy of the page's modules that Node takes for modules: it does so where a package.json says it, and web/ has none.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {fileURLToPath, pathToFileURL} from 'node:url';

export const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'runnel-web.'));
fs.cpSync(path.join(path.dirname(fileURLToPath(import.meta.url)), '../../web'), folder, {recursive: true});
fs.writeFileSync(path.join(folder, 'package.json'), '{"type": "module"}');
process.on('exit', () => fs.rmSync(folder, {recursive: true, force: true}));
globalThis.addEventListener ??= () => {};
export const load = name => import(pathToFileURL(path.join(folder, name)));
