"""litellm: completion, streaming, stream_chunk_builder, tools, errors."""

import asyncio
import json

import litellm
from pydantic import BaseModel

from cases import (CALL, DOOR, KEY, MODEL, PERSON, STORY, SUM, URL, VOLUME, Skip, case, run, same)

litellm.telemetry = False
litellm.suppress_debug_info = True


class Person(BaseModel):
    name: str
    age: int


def where(fields):
    return {"model": "openai/" + MODEL, "api_base": URL, "api_key": KEY, "timeout": 120,
            "num_retries": 0, "max_retries": 0, "temperature": 0, **fields}


def complete(messages, **fields):
    return litellm.completion(messages=messages, **where(fields))


def rebuilt(messages, **fields):
    chunks = list(complete(messages, stream=True, **fields))
    return litellm.stream_chunk_builder(chunks, messages=messages)


@case
def completion():
    answer = complete(SUM)
    assert "42" in answer.choices[0].message.content
    same(answer.choices[0].finish_reason, "stop")
    same(answer.usage.total_tokens, answer.usage.prompt_tokens + answer.usage.completion_tokens)


@case
def system_messages_anywhere():
    for role in ("system", "developer"):
        said = {"role": role, "content": "You are a friendly assistant."}
        for messages in ([said] + SUM, SUM + [said] + SUM):
            assert complete(messages, max_tokens=4).usage.completion_tokens


@case
def a_stream_is_rebuilt_as_completion_gives_it():
    whole = complete(STORY, max_tokens=30)
    built = rebuilt(STORY, max_tokens=30)
    same(built.choices[0].message.content, whole.choices[0].message.content)
    same(built.choices[0].message.role, "assistant")
    same(built.choices[0].finish_reason, "length")


@case
def the_usage_of_a_stream():
    whole = complete(STORY, max_tokens=12).usage
    built = rebuilt(STORY, max_tokens=12, stream_options={"include_usage": True}).usage
    same((built.prompt_tokens, built.completion_tokens),
         (whole.prompt_tokens, whole.completion_tokens))


@case
def the_calls_of_a_stream_are_rebuilt():
    whole = complete(CALL, tools=[VOLUME, DOOR]).choices[0]
    same(whole.finish_reason, "tool_calls")
    same(json.loads(whole.message.tool_calls[0].function.arguments), {"level": 9})
    built = rebuilt(CALL, tools=[VOLUME, DOOR]).choices[0]
    same(built.finish_reason, "tool_calls")
    same([(c.function.name, c.function.arguments) for c in built.message.tool_calls],
         [(c.function.name, c.function.arguments) for c in whole.message.tool_calls])


@case
def several_calls_of_a_stream_are_rebuilt():
    fields = {"tools": [VOLUME, DOOR], "tool_choice": "required", "max_tokens": 150,
              "logit_bias": {"1": -100, "6": -100}}
    whole = complete(CALL, **fields).choices[0].message.tool_calls
    if len(whole) < 2:
        raise Skip("pebble made one call, whatever was done")
    built = rebuilt(CALL, **fields).choices[0].message.tool_calls
    same([(c.function.name, c.function.arguments) for c in built],
         [(c.function.name, c.function.arguments) for c in whole])


@case
def the_result_of_a_tool_is_told():
    message = complete(CALL, tools=[VOLUME]).choices[0].message
    told = complete(CALL + [message.model_dump(), {
        "role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "{\"level\": 9}"}],
        tools=[VOLUME]).choices[0]
    assert "9" in told.message.content and not told.message.tool_calls, told


@case
def a_class_as_response_format():
    answer = complete([{"role": "user", "content": PERSON}], response_format=Person)
    same(Person.model_validate_json(answer.choices[0].message.content),
         Person(name="Mina Flola", age=27))


@case
def logprobs():
    answer = complete(STORY, logprobs=True, top_logprobs=2, max_tokens=6)
    entries = answer.choices[0].logprobs.content
    same((len(entries), len(entries[0].top_logprobs)), (6, 2))


@case
def several_at_once():
    prompts = [[{"role": "user", "content": f"What is {i} plus 4?"}] for i in range(8)]
    alone = [complete(p, max_tokens=12).choices[0].message.content for p in prompts]

    async def all_of():
        return await asyncio.gather(*(
            litellm.acompletion(messages=p, **where({"max_tokens": 12})) for p in prompts))

    same([a.choices[0].message.content for a in asyncio.run(all_of())], alone)


@case
def text_completion():
    answer = litellm.text_completion(prompt="Once upon a time", **where({
        "model": "text-completion-openai/" + MODEL, "max_tokens": 8}))
    assert answer.choices[0].text


def refused(kind, **fields):
    try:
        complete(fields.pop("messages", SUM), **fields)
    except kind:
        return
    raise AssertionError("was not refused")


@case
def errors_are_told_apart():
    refused(litellm.ContextWindowExceededError,
            messages=[{"role": "user", "content": "one two three " * 3000}])
    refused(litellm.BadRequestError, temperature=9)
    refused(litellm.NotFoundError, model="openai/no-such-model")
    if KEY != "none":
        refused(litellm.AuthenticationError, api_key="wrong")


run()
