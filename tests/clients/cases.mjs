// What the scripts in JavaScript have in common; as cases.py, whose lines it writes too.
import { readFileSync } from 'node:fs';
import { isDeepStrictEqual, inspect } from 'node:util';

export const BASE = process.env.VUG_URL.replace(/\/$/, '');
export const URL = BASE + '/v1';
export const KEY = process.env.VUG_KEY || 'none';
export const MODEL = process.env.VUG_MODEL;

// What pebble was trained to do, so that at temperature 0 its answers are known.
export const SUM = 'What is 12 plus 30?';
export const STORY = 'Tell me a short story about a fox named Mira.';
export const CALL = 'Set the volume to 9';
export const PERSON =
  'Fill this in: {"name": "...", "age": "..."}\nThe name is Mina Flola. Its age is 27.';

// As page_example of cases.py.
export const pageExample = (language) => {
  const page = readFileSync(process.env.VUG_PAGE, 'utf8');
  let program = page.split('```' + language + '\n')[1].split('```\n')[0];
  const printed = page.split('```js\n')[1].split('```\n\n    ')[1].split('\n')[0];
  for (const [ours, theirs] of [
    ['http://127.0.0.1:8080/v1', URL], ['"none"', `"${KEY}"`], ['"pebble"', `"${MODEL}"`],
  ]) {
    ok(program.includes(ours), `${ours} is not in the example`);
    program = program.replace(ours, theirs);
  }
  return [program, printed];
};

const cases = [];

export class Skip extends Error {}

export const test = (name, body) => cases.push([name, body]);

export const same = (a, b) => {
  if (!isDeepStrictEqual(a, b)) throw new Error(`${inspect(a)} is not ${inspect(b)}`);
};

export const ok = (value, why) => {
  if (!value) throw new Error(typeof why === 'string' ? why : `found ${inspect(why)}`);
};

// What the call is refused with.
export const refusal = async (call) => {
  try {
    await call();
  } catch (e) {
    return e;
  }
  throw new Error('was not refused');
};

const say = (result, name, why = '') => {
  const said = why.replace(/\s+/g, ' ').trim().slice(0, 1000);
  console.log(`${result} ${name}` + (said ? ` # ${said}` : ''));
};

export const run = async () => {
  for (const [name, body] of cases) {
    try {
      await body();
      say('ok', name);
    } catch (e) {
      const line = /\w+\.mjs:\d+/.exec((e.stack ?? '').replace(/cases\.mjs/g, ''));
      if (e instanceof Skip) say('skip', name, e.message);
      else say('not ok', name, `${line ?? ''}: ${e.name}: ${e.message}`);
    }
  }
  console.log('end');
};
