// LangChain for JavaScript: its chat model, tools, each way to structured output, an agent.
import { HumanMessage, SystemMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI, OpenAI } from '@langchain/openai';
import { createAgent } from 'langchain';
import { z } from 'zod';
import {
  CALL, KEY, MODEL, PERSON, STORY, SUM, URL, ok, refusal, run, same, test,
} from './cases.mjs';

const made = (Model, fields) => new Model({
  model: MODEL, temperature: 0, apiKey: KEY, maxRetries: 0, configuration: { baseURL: URL },
  ...fields,
});
const chat = (fields) => made(ChatOpenAI, fields);
const Person = z.object({ name: z.string(), age: z.number().int() });
const volume = (levels = []) => tool(
  async ({ level }) => { levels.push(level); return JSON.stringify({ level }); },
  {
    name: 'set_volume', description: 'Sets the volume of the speaker',
    schema: z.object({ level: z.number().int() }),
  });
// All chunks, put together as the client does it.
const gather = async (stream) => {
  let all, n = 0;
  for await (const chunk of await stream) {
    all = all ? all.concat(chunk) : chunk;
    n++;
  }
  return [all, n];
};

test('invoke', async () => {
  const answer = await chat().invoke([
    new SystemMessage('You are a friendly assistant.'),
    new HumanMessage({ content: [{ type: 'text', text: SUM }] }),
  ]);
  ok(answer.content.includes('42'), answer.content);
  same(answer.response_metadata.finish_reason, 'stop');
  const usage = answer.usage_metadata;
  same(usage.total_tokens, usage.input_tokens + usage.output_tokens);
});

test('stream', async () => {
  const whole = await chat({ maxTokens: 30 }).invoke(STORY);
  const [all, n] = await gather(chat({ maxTokens: 30 }).stream(STORY));
  same(all.content, whole.content);
  ok(n > 5, 'it came in one piece');
  same(all.response_metadata.finish_reason, 'length');
  same(all.usage_metadata.output_tokens, 30);
});

test('a tool and its result', async () => {
  const set = volume(), bound = chat().bindTools([set]), question = new HumanMessage(CALL);
  const call = await bound.invoke([question]);
  same(call.tool_calls.map((c) => [c.name, c.args]), [['set_volume', { level: 9 }]]);
  same(call.response_metadata.finish_reason, 'tool_calls');
  const answer = await bound.invoke([question, call, await set.invoke(call.tool_calls[0])]);
  ok(answer.content.includes('9'), answer.content);
});

test('a tool, streamed', async () => {
  const [all, n] = await gather(chat().bindTools([volume()]).stream(CALL));
  same(all.tool_calls.map((c) => [c.name, c.args]), [['set_volume', { level: 9 }]]);
  ok(n > 3, 'it came in one piece');
  same(all.response_metadata.finish_reason, 'tool_calls');
});

test('tool_choice', async () => {
  for (const tool_choice of ['any', 'required', 'set_volume']) {
    const bound = chat({ maxTokens: 100 }).bindTools([volume()], { tool_choice, strict: true });
    same((await bound.invoke(SUM)).tool_calls.map((c) => c.name), ['set_volume']);
  }
  const none = chat().bindTools([volume()], { tool_choice: 'none' });
  same((await none.invoke(CALL)).tool_calls, []);
});

test('structured output, each way', async () => {
  for (const method of ['jsonSchema', 'functionCalling', 'jsonMode']) {
    const bound = chat().withStructuredOutput(Person, { method, name: 'person' });
    const got = await bound.invoke(PERSON);
    same([typeof got.name, got.age], ['string', 27]);
    let last;
    for await (const part of await bound.stream(PERSON)) last = part;
    same(last, got);
  }
});

test('an agent', async () => {
  const levels = [];
  const agent = createAgent({ model: chat(), tools: [volume(levels)] });
  const asked = { messages: [{ role: 'user', content: CALL }] };
  const { messages } = await agent.invoke(asked);
  same(messages.map((m) => m.type), ['human', 'ai', 'tool', 'ai']);
  ok(messages.at(-1).content.includes('9'), messages.at(-1));
  let pieces = 0;
  for await (const [piece] of await agent.stream(asked, { streamMode: 'messages' }))
    pieces += piece.type === 'ai';
  ok(pieces > 5, 'it came in one piece');
  same(levels, [9, 9]);
});

test('log-probabilities, choices, stops', async () => {
  const one = await chat({ logprobs: true, topLogprobs: 2, maxTokens: 3 }).invoke(SUM);
  same(one.response_metadata.logprobs.content.map((e) => e.top_logprobs.length), [2, 2, 2]);
  const two = await chat({ n: 2, temperature: 1, maxTokens: 3 }).generate([[new HumanMessage(SUM)]]);
  same(two.generations[0].length, 2);
  ok(!(await chat().invoke(SUM, { stop: ['='] })).content.includes('='), 'the stop is there');
});

test('several at once', async () => {
  const prompts = [...Array(6).keys()].map((i) => `What is ${i} plus ${i + 3}?`);
  const alone = [];
  for (const p of prompts) alone.push((await chat().invoke(p)).content);
  same((await chat().batch(prompts)).map((m) => m.content), alone);
});

test('errors', async () => {
  let e = await refusal(() => chat({ model: 'no/such-model' }).invoke(SUM));
  same([e.status, e.code], [404, 'model_not_found']);
  e = await refusal(() => chat().invoke('one two three '.repeat(3000)));
  same(e.name, 'ContextOverflowError');
});

test('a client that leaves', async () => {
  const leave = new AbortController();
  const e = await refusal(async () => {
    for await (const _ of await chat({ maxTokens: 1000 }).stream(STORY, { signal: leave.signal }))
      leave.abort();
  });
  same(e.name, 'AbortError');
  ok((await chat().invoke(SUM)).content.includes('42'), 'the next is not served');
});

test('completions', async () => {
  const text = made(OpenAI, { maxTokens: 8 });
  let streamed = '';
  for await (const piece of await text.stream('Once upon')) streamed += piece;
  same(streamed, await text.invoke('Once upon'));
});

await run();
