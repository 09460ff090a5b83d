// tests/clients/js/driver.mjs FILE - does with one JavaScript client what its standard input says, as tests/clients/python/driver.py does.
//
// Packages are looked for in $RUNNEL_TEST_NODE (a folder with node_modules).
import {createRequire} from 'node:module';
import path from 'node:path';
import readline from 'node:readline';

const inFolder = createRequire(path.resolve(process.env.RUNNEL_TEST_NODE ?? '.', 'x.js'));
const client = (await import(process.argv[2])).features(inFolder);

function classes(error) {
  const names = [];
  for (let at = error; at && at !== Object.prototype; at = Object.getPrototypeOf(at)) if (at.constructor?.name) names.push(at.constructor.name);
  return [error?.name, ...names];
}

for await (const line of readline.createInterface({input: process.stdin})) {
  const at = JSON.parse(line);
  let answer;
  try {
    answer = {got: (await client[at.feature](at)) ?? null};
  } catch (e) {
    answer = {raised: classes(e), message: `${e?.message} ${e?.responseBody ?? ''}`};
  }
  process.stdout.write(JSON.stringify(answer) + '\n');
}
