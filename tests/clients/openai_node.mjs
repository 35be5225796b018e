// The `openai` package for Node.js: create, stream, parse, tools, log-probabilities, errors.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import OpenAI from 'openai';
import { zodFunction, zodResponseFormat } from 'openai/helpers/zod';
import { z } from 'zod';
import * as z3 from 'zod/v3';
import {
  BASE, CALL, KEY, MODEL, PERSON, STORY, SUM, Skip, URL, ok, pageExample, refusal,
  run, same, test,
} from './cases.mjs';

const client = new OpenAI({ baseURL: URL, apiKey: KEY, timeout: 120000 });
const chat = client.chat.completions;
const Person = z.object({ name: z.string(), age: z.number().int() });
const volume = {
  type: 'function',
  function: {
    name: 'set_volume',
    description: 'Sets the volume of the speaker',
    parameters: {
      type: 'object',
      properties: { level: { type: 'integer', description: '0 to 100' } },
      required: ['level'],
    },
  },
};
const door = {
  type: 'function',
  function: {
    name: 'lock_door',
    description: 'Locks or unlocks a door',
    parameters: {
      type: 'object',
      properties: { door_name: { type: 'string' }, state: { type: 'boolean' } },
      required: ['door_name', 'state'],
    },
  },
};

const asked = (content, fields) => ({
  model: MODEL, temperature: 0, messages: [{ role: 'user', content }], ...fields,
});
const create = (content, fields) => chat.create(asked(content, fields));
const chunksOf = async (content, fields) => {
  const chunks = [];
  for await (const chunk of await create(content, { ...fields, stream: true })) chunks.push(chunk);
  return chunks;
};
const textOf = (chunks, index = 0) =>
  chunks.flatMap((c) => c.choices).filter((c) => c.index === index)
    .map((c) => c.delta.content ?? '').join('');
const callsOf = (message) =>
  (message.tool_calls ?? []).map((c) => [c.function.name, c.function.arguments]);

test('the example of the documentation', async () => {
  const [program, printed] = pageExample('js');
  const file = `${import.meta.dirname}/example.mjs`;
  writeFileSync(file, program);
  same(execFileSync(process.execPath, [file], { encoding: 'utf8' }), printed);
});

test('create', async () => {
  const answer = await create(SUM);
  ok(answer.choices[0].message.content.includes('42'), answer.choices[0]);
  same(answer.object, 'chat.completion');
  same(answer.choices[0].finish_reason, 'stop');
  same(answer.choices[0].message.refusal, null);
  ok(!('tool_calls' in answer.choices[0].message), 'tool_calls without a call');
  same(answer.usage.total_tokens, answer.usage.prompt_tokens + answer.usage.completion_tokens);
  ok(answer._request_id, 'no x-request-id');
});

test('null is absent', async () => {
  const answer = await create(SUM, {
    max_tokens: null, stop: null, seed: null, n: null, logit_bias: null, tools: null,
    response_format: null, stream: null, stream_options: null, logprobs: null, user: null,
  });
  same(answer.choices[0].message.content, (await create(SUM)).choices[0].message.content);
});

test('stream', async () => {
  const chunks = await chunksOf(STORY, { max_tokens: 30 });
  same(new Set(chunks.map((c) => c.id)).size, 1);
  same(new Set(chunks.map((c) => c.created)).size, 1);
  same(chunks[0].choices[0].delta, { role: 'assistant', content: '' });
  same(chunks.at(-1).choices[0].delta, {});
  same(chunks.map((c) => c.choices[0].finish_reason).filter((r) => r !== null), ['length']);
  same(chunks.filter((c) => 'usage' in c).length, 0);
  const whole = await create(STORY, { max_tokens: 30 });
  same(textOf(chunks), whole.choices[0].message.content);
});

test('usage of a stream', async () => {
  const chunks = await chunksOf(SUM, { stream_options: { include_usage: true } });
  same(chunks.at(-1).choices, []);
  same(chunks.slice(0, -1).every((c) => c.usage === null), true);
  const { usage } = await create(SUM);
  same(chunks.at(-1).usage.completion_tokens, usage.completion_tokens);
});

test('stream helper: the message it builds', async () => {
  const stream = chat.stream(asked(STORY, { max_tokens: 30 }));
  let text = '';
  stream.on('content', (delta) => (text += delta));
  const final = await stream.finalChatCompletion();
  const whole = await create(STORY, { max_tokens: 30 });
  same(final.choices[0].message.content, whole.choices[0].message.content);
  same(text, whole.choices[0].message.content);
  same(final.choices[0].message.role, 'assistant');
});

test('stream helper: the calls it builds', async () => {
  const fields = { tools: [volume, door] };
  const final = await chat.stream(asked(CALL, fields)).finalChatCompletion();
  const whole = await create(CALL, fields);
  same(callsOf(final.choices[0].message), callsOf(whole.choices[0].message));
  same(callsOf(final.choices[0].message).length, 1);
  same(final.choices[0].finish_reason, 'tool_calls');
  ok(/^call_\w+$/.test(final.choices[0].message.tool_calls[0].id), final.choices[0].message);
});

test('stream helper: several calls', async () => {
  const fields = {
    tools: [volume, door], tool_choice: 'required', max_tokens: 150,
    logit_bias: { 1: -100, 6: -100 },
  };
  const whole = callsOf((await create(CALL, fields)).choices[0].message);
  if (whole.length < 2) throw new Skip('pebble made one call, whatever was done');
  const calls = [];
  for (const chunk of await chunksOf(CALL, fields))
    for (const piece of chunk.choices[0].delta.tool_calls ?? []) {
      const call = (calls[piece.index] ??= ['', '']);
      call[0] += piece.function.name ?? '';
      call[1] += piece.function.arguments ?? '';
    }
  same(calls, whole);
});

test('parse', async () => {
  const answer = await chat.parse(
    asked(PERSON, { response_format: zodResponseFormat(Person, 'person') }));
  same(answer.choices[0].message.parsed, { name: 'Mina Flola', age: 27 });
});

test('parse the arguments of a call', async () => {
  const tool = zodFunction({
    name: 'set_volume', description: 'Sets the volume of the speaker',
    parameters: z.object({ level: z.number().int() }),
  });
  const answer = await chat.parse(asked(CALL, { tools: [tool], tool_choice: 'required' }));
  same(answer.choices[0].message.tool_calls[0].function.parsed_arguments, { level: 9 });
});

test('parse in a stream', async () => {
  const stream = chat.stream(asked(PERSON, { response_format: zodResponseFormat(Person, 'person') }));
  same((await stream.finalChatCompletion()).choices[0].message.parsed,
    { name: 'Mina Flola', age: 27 });
});

// What zod writes for each, with its patterns, formats and bounds, is taken and held to; an answer
// that the limit cuts off is none.
test('parse: what zod can describe', async () => {
  const kinds = {
    uuid: z.uuid(), date: z.iso.date(), datetime: z.iso.datetime(), ipv4: z.ipv4(), email: z.email(),
    starts: z.string().startsWith('ab'), regex: z.string().regex(/^[A-Z]{3}-\d+$/),
    length: z.string().min(2).max(5), int: z.int(), range: z.number().min(0).max(1),
    enum: z.enum(['a', 'b']), literal: z.literal(5), nullable: z.string().nullable(),
    union: z.union([z.boolean(), z.number()]), list: z.array(z.boolean()).min(1).max(3),
    cases: z.discriminatedUnion('k', [
      z.object({ k: z.literal('a'), x: z.number() }), z.object({ k: z.literal('b'), y: z.boolean() }),
    ]),
    duration: z.iso.duration(), address: z.email().max(30), price: z.number().min(0).multipleOf(0.01),
    password: z.string().regex(/^(?=.*[A-Z])(?=.*\d).{8,}$/).max(12),
    nullable3: z3.string().nullable(),
  };
  let parsed = 0;
  for (const [name, kind] of Object.entries(kinds)) {
    const object = kind instanceof z3.ZodType ? z3.object({ v: kind }) : z.object({ v: kind });
    const response_format = zodResponseFormat(object, 'v');
    try {
      const fields = { response_format, max_tokens: 150, temperature: 1, seed: 1 };
      const answer = await chat.parse(asked('Fill this in: {"v": "..."}', fields));
      ok(kind.safeParse(answer.choices[0].message.parsed.v).success, answer.choices[0].message);
      parsed++;
    } catch (e) {
      ok(e.constructor.name === 'LengthFinishReasonError', `${name}: ${e.message}`);
    }
  }
  ok(parsed > 8, `only ${parsed} were not cut off`);
});

test('runTools: call, result, answer', async () => {
  const levels = [];
  const tool = {
    type: 'function',
    function: {
      ...volume.function, parse: JSON.parse,
      function: ({ level }) => { levels.push(level); return JSON.stringify({ level }); },
    },
  };
  for (const stream of [false, true]) {
    const runner = chat.runTools(asked(CALL, { tools: [tool], stream }));
    ok((await runner.finalContent()).includes('9'), 'the result is not told');
  }
  same(levels, [9, 9]);
});

test('tool_choice', async () => {
  const none = await create(CALL, { tools: [volume], tool_choice: 'none' });
  same(callsOf(none.choices[0].message), []);
  const required = await create(STORY, { tools: [volume, door], tool_choice: 'required' });
  same(required.choices[0].finish_reason, 'tool_calls');
  const named = await create(STORY, {
    tools: [volume, door], max_tokens: 300,
    tool_choice: { type: 'function', function: { name: 'lock_door' } },
  });
  same(named.choices[0].finish_reason, 'stop');
  same(callsOf(named.choices[0].message)[0][0], 'lock_door');
});

test('logprobs, whole and in a stream', async () => {
  const fields = { logprobs: true, top_logprobs: 4, max_tokens: 16 };
  const whole = (await create(STORY, fields)).choices[0];
  same(whole.logprobs.content.length, 16);
  same(whole.logprobs.content.every((e) => e.top_logprobs.length === 4 && e.logprob <= 0), true);
  same(Buffer.from(whole.logprobs.content.flatMap((e) => e.bytes)).toString(), whole.message.content);
  const chunks = await chunksOf(STORY, fields);
  same(chunks.flatMap((c) => c.choices[0].logprobs?.content ?? []), whole.logprobs.content);
});

test('n choices', async () => {
  const fields = { n: 3, temperature: 1, seed: 5, max_tokens: 12 };
  const whole = await create(STORY, fields);
  const chunks = await chunksOf(STORY, fields);
  same([0, 1, 2].map((i) => textOf(chunks, i)), whole.choices.map((c) => c.message.content));
});

test('errors before the first event', async () => {
  for (const stream of [false, true]) {
    let e = await refusal(() => create(SUM, { temperature: 3, stream }));
    ok(e instanceof OpenAI.BadRequestError, e);
    same([e.status, e.param, e.code, e.type], [400, 'temperature', null, 'invalid_request_error']);
    e = await refusal(() => create('one two three '.repeat(3000), { stream }));
    same([e.status, e.code, e.param], [400, 'context_length_exceeded', 'messages']);
    ok(/maximum context length is \d+ tokens/.test(e.message), e.message);
    e = await refusal(() => create(SUM, { model: 'no/such-model', stream }));
    ok(e instanceof OpenAI.NotFoundError, e);
    same(e.code, 'model_not_found');
  }
});

test('a wrong key', async () => {
  if (KEY === 'none') throw new Skip('the server has no key');
  const e = await refusal(() =>
    client.withOptions({ apiKey: 'wrong' }).chat.completions.create(asked(SUM)));
  ok(e instanceof OpenAI.AuthenticationError, e);
});

test('a client that leaves', async () => {
  const stream = await create(STORY, { stream: true, max_tokens: 1500, ignore_eos: true });
  for await (const _ of stream) break;
  stream.controller.abort();
  const begin = Date.now();
  await create(SUM, { max_tokens: 1 });
  ok(Date.now() - begin < 3000, `the next request waited ${Date.now() - begin} ms`);
});

test('several at once', async () => {
  const prompts = [...Array(8).keys()].map((i) => `What is ${i} plus ${i + 3}?`);
  const alone = [];
  for (const p of prompts) alone.push((await create(p)).choices[0].message.content);
  const together = await Promise.all(prompts.map((p) => chunksOf(p)));
  same(together.map((chunks) => textOf(chunks)), alone);
});

test('models', async () => {
  const ids = [];
  for await (const model of client.models.list()) ids.push(model.id);
  ok(ids.includes(MODEL), ids);
  same((await client.models.retrieve(MODEL)).object, 'model');
});

test('completions', async () => {
  const ask = { model: MODEL, prompt: 'Once upon a time', temperature: 0, max_tokens: 8 };
  const whole = await client.completions.create(ask);
  let text = '';
  for await (const c of await client.completions.create({ ...ask, stream: true }))
    text += c.choices[0].text;
  same(text, whole.choices[0].text);
});

test('the stream as a fetch of its own reads it', async () => {
  const answer = await fetch(BASE + '/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${KEY}` },
    body: JSON.stringify(asked(SUM, { stream: true })),
  });
  same(answer.status, 200);
  ok(answer.headers.get('content-type').startsWith('text/event-stream'), [...answer.headers]);
  same(answer.headers.get('cache-control'), 'no-cache');
  const events = (await answer.text()).split('\n\n').filter((e) => e && !e.startsWith(':'));
  same(events.at(-1), 'data: [DONE]');
  for (const event of events.slice(0, -1)) JSON.parse(event.replace(/^data: /, ''));
});

await run();
