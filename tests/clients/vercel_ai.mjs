// The Vercel AI SDK, with its provider for OpenAI-compatible servers and with that for OpenAI.
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import {
  APICallError, Output, generateObject, generateText, stepCountIs, streamObject, streamText, tool,
} from 'ai';
import { z } from 'zod';
import {
  CALL, KEY, MODEL, PERSON, STORY, SUM, URL, ok, refusal, run, same, test,
} from './cases.mjs';

const providers = {
  compatible: createOpenAICompatible({
    name: 'vug', baseURL: URL, apiKey: KEY, includeUsage: true, supportsStructuredOutputs: true,
  }).chatModel(MODEL),
  openai: createOpenAI({ baseURL: URL, apiKey: KEY }).chat(MODEL),
};
const Person = z.object({ name: z.string(), age: z.number().int() });
const volume = (levels) => ({
  set_volume: tool({
    description: 'Sets the volume of the speaker',
    inputSchema: z.object({ level: z.number().int() }),
    execute: async ({ level }) => { levels.push(level); return { level }; },
  }),
});
const collect = async (stream) => {
  const parts = [];
  for await (const part of stream) parts.push(part);
  return parts;
};

for (const [provider, model] of Object.entries(providers)) {
  const ask = (fields) => ({ model, temperature: 0, maxRetries: 0, ...fields });
  const each = (name, body) => test(`${provider}: ${name}`, body);

  each('generateText', async () => {
    const got = await generateText(ask({ prompt: SUM, instructions: 'You are a friendly assistant.' }));
    ok(got.text.includes('42'), got.text);
    same(got.finishReason, 'stop');
    ok(got.usage.inputTokens > 0 && got.usage.outputTokens > 0, got.usage);
  });

  each('maxOutputTokens', async () => {
    const got = await generateText(ask({ prompt: STORY, maxOutputTokens: 5 }));
    same([got.finishReason, got.usage.outputTokens], ['length', 5]);
  });

  each('streamText', async () => {
    const got = streamText(ask({ prompt: STORY, maxOutputTokens: 30 }));
    const parts = await collect(got.textStream);
    const whole = await generateText(ask({ prompt: STORY, maxOutputTokens: 30 }));
    same(parts.join(''), whole.text);
    ok(parts.length > 5, 'it came in one piece');
    same(await got.finishReason, 'length');
    same((await got.usage).outputTokens, 30);
  });

  each('tools over several steps', async () => {
    const levels = [];
    const got = await generateText(
      ask({ prompt: CALL, tools: volume(levels), stopWhen: stepCountIs(4) }));
    same(levels, [9]);
    same(got.steps.map((s) => s.finishReason), ['tool-calls', 'stop']);
    ok(got.text.includes('9'), got.text);
  });

  each('tools over several steps, streamed', async () => {
    const levels = [];
    const got = streamText(ask({ prompt: CALL, tools: volume(levels), stopWhen: stepCountIs(4) }));
    const text = (await collect(got.textStream)).join('');
    same(levels, [9]);
    same((await got.steps).map((s) => s.finishReason), ['tool-calls', 'stop']);
    ok(text.includes('9'), text);
  });

  each('toolChoice', async () => {
    const required = await generateText(ask({
      prompt: SUM, tools: volume([]), toolChoice: 'required', maxOutputTokens: 100 }));
    same(required.toolCalls.map((c) => c.toolName), ['set_volume']);
    const named = await generateText(ask({
      prompt: SUM, tools: volume([]), toolChoice: { type: 'tool', toolName: 'set_volume' },
      maxOutputTokens: 100 }));
    same(named.toolCalls.map((c) => c.toolName), ['set_volume']);
    const none = await generateText(ask({ prompt: CALL, tools: volume([]), toolChoice: 'none' }));
    same(none.toolCalls, []);
  });

  each('generateObject', async () => {
    const got = await generateObject(ask({ prompt: PERSON, schema: Person }));
    same(got.object, { name: 'Mina Flola', age: 27 });
  });

  each('streamObject', async () => {
    const got = streamObject(ask({ prompt: PERSON, schema: Person }));
    const parts = await collect(got.partialObjectStream);
    same(await got.object, { name: 'Mina Flola', age: 27 });
    ok(parts.length > 1, 'it came in one piece');
  });

  each('generateText with an output of a schema', async () => {
    const got = await generateText(ask({ prompt: PERSON, output: Output.object({ schema: Person }) }));
    same(got.output, { name: 'Mina Flola', age: 27 });
  });

  each('errors', async () => {
    let e = await refusal(() => generateText(ask({ prompt: 'one two three '.repeat(3000) })));
    ok(APICallError.isInstance(e), e);
    same([e.statusCode, e.isRetryable], [400, false]);
    ok(/maximum context length is/.test(e.message), e.message);
    const said = [];
    const got = streamText(ask({
      prompt: 'one two three '.repeat(3000), onError: ({ error }) => said.push(error) }));
    await collect(got.fullStream);
    same(said.map((x) => x.statusCode), [400]);
  });

  each('abort', async () => {
    const leave = new AbortController();
    const got = streamText(ask({ prompt: STORY, maxOutputTokens: 1000, abortSignal: leave.signal }));
    for await (const _ of got.textStream) {
      leave.abort();
      break;
    }
    ok((await generateText(ask({ prompt: SUM }))).text.includes('42'), 'the next is not served');
  });

  each('several at once', async () => {
    const prompts = [...Array(6).keys()].map((i) => `What is ${i} plus ${i + 3}?`);
    const alone = [];
    for (const prompt of prompts) alone.push((await generateText(ask({ prompt }))).text);
    const together = await Promise.all(prompts.map(
      async (prompt) => (await collect(streamText(ask({ prompt })).textStream)).join('')));
    same(together, alone);
  });
}

await run();
