// OpenAI's Agents SDK for JavaScript, over chat completions.
import {
  Agent, run as runAgent, setDefaultOpenAIClient, setOpenAIAPI, setTracingDisabled, tool,
} from '@openai/agents';
import OpenAI from 'openai';
import { z } from 'zod';
import { CALL, KEY, MODEL, PERSON, SUM, URL, ok, refusal, run, same, test } from './cases.mjs';

setDefaultOpenAIClient(new OpenAI({ baseURL: URL, apiKey: KEY, maxRetries: 0 }));
setOpenAIAPI('chat_completions');
setTracingDisabled(true);

const agent = (fields) =>
  new Agent({ name: 'vug', model: MODEL, modelSettings: { temperature: 0 }, ...fields });
const volume = (levels, fields) => tool({
  name: 'set_volume', description: 'Sets the volume of the speaker',
  parameters: z.object({ level: z.number().int() }),
  execute: async ({ level }) => { levels.push(level); return JSON.stringify({ level }); },
  ...fields,
});

test('run', async () => {
  const got = await runAgent(agent({ instructions: 'You are a friendly assistant.' }), SUM);
  ok(got.finalOutput.includes('42'), got.finalOutput);
});

test('a tool', async () => {
  const levels = [];
  const got = await runAgent(agent({ tools: [volume(levels)] }), CALL);
  same(levels, [9]);
  ok(got.finalOutput.includes('9'), got.finalOutput);
  same(got.rawResponses.length, 2);
});

test('a tool, streamed', async () => {
  const levels = [], items = [];
  const got = await runAgent(agent({ tools: [volume(levels)] }), CALL, { stream: true });
  let text = '';
  for await (const event of got) {
    if (event.type === 'run_item_stream_event') items.push(event.name);
    if (event.data?.type === 'output_text_delta') text += event.data.delta;
  }
  await got.completed;
  same(levels, [9]);
  same(items, ['tool_called', 'tool_output', 'message_output_created']);
  same(text, got.finalOutput);
  ok(got.rawResponses.every((r) => r.usage.totalTokens > 0), got.rawResponses);
});

test('an output type', async () => {
  const outputType = z.object({ name: z.string(), age: z.number().int() });
  const got = await runAgent(agent({ outputType }), PERSON);
  same(got.finalOutput, { name: 'Mina Flola', age: 27 });
});

test('a tool that must be called, one at a time', async () => {
  const levels = [];
  const modelSettings = { temperature: 0, toolChoice: 'required', parallelToolCalls: false };
  await runAgent(agent({ tools: [volume(levels)], modelSettings }), CALL);
  same(levels, [9]);
});

test('a tool with a schema that is not supported', async () => {
  const levels = [];
  const parameters = {
    type: 'object', additionalProperties: true, required: ['level'],
    properties: { level: { type: 'integer', not: { const: 3 } } },
  };
  await runAgent(agent({ tools: [volume(levels, { strict: false, parameters })] }), CALL);
  same(levels, [9]);
});

test('errors', async () => {
  let e = await refusal(() => runAgent(agent({ model: 'no/such-model' }), SUM));
  ok(e instanceof OpenAI.NotFoundError, e);
  e = await refusal(() => runAgent(agent(), 'one two three '.repeat(3000)));
  same([e.status, e.code], [400, 'context_length_exceeded']);
});

await run();
