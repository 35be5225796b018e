"""The `openai` package for Python: create, stream, parse, tools, log-probabilities, errors."""

import asyncio
import ctypes
import datetime
import enum
import json
import math
import subprocess
import sys
import time
import uuid
from typing import Annotated, Any, Literal, Optional, Union

import openai
from openai.lib.streaming._deltas import accumulate_delta
from pydantic import BaseModel, Field, create_model

from cases import (ABOUT, BASE, CALL, DOOR, KEY, MODEL, PERSON, STORY, SUM, URL, VOLUME, Skip, case,
                   page_example, run, same)

client = openai.OpenAI(base_url=URL, api_key=KEY, timeout=120)
chat = client.chat.completions


class Person(BaseModel):
    name: str
    age: int


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class set_volume(BaseModel):
    """Sets the volume of the speaker"""

    level: int


def create(messages, **fields):
    return chat.create(model=MODEL, messages=messages, **{"temperature": 0, **fields})


def chunks_of(messages, **fields):
    return list(create(messages, stream=True, **fields))


def text_of(chunks, index=0):
    return "".join(c.delta.content or "" for chunk in chunks for c in chunk.choices
                   if c.index == index)


def fold(chunks):
    """What the helpers of this client make of a stream: 2.4's accumulate_delta."""
    message = {}
    for chunk in chunks:
        for choice in chunk.choices:
            message = accumulate_delta(message, choice.delta.to_dict())
    return message


def refused(kind, status, part, param=None, code=None, messages=SUM, **fields):
    """The refusal, as this client raises it, at once: nothing of it is tried again."""
    try:
        chat.create(model=fields.pop("model", MODEL), messages=messages, **fields)
    except openai.APIStatusError as e:
        assert isinstance(e, kind), f"{type(e).__name__}: {e}"
        same(e.status_code, status)
        assert part.lower() in e.body["message"].lower(), e.body["message"]
        same(e.param, param)
        same(e.code, code)
        assert isinstance(e.type, str), e.type
        return e
    raise AssertionError("was not refused")


# ---- create ---------------------------------------------------------------------------


@case
def create_has_all_that_a_client_reads():
    answer = create(SUM)
    assert answer.id.startswith("chatcmpl-"), answer.id
    same(answer.object, "chat.completion")
    assert abs(answer.created - time.time()) < 3600, answer.created
    assert answer.model
    same(len(answer.choices), 1)
    choice = answer.choices[0]
    same((choice.index, choice.finish_reason, choice.logprobs), (0, "stop", None))
    same((choice.message.role, choice.message.refusal, choice.message.tool_calls),
         ("assistant", None, None))
    assert "42" in choice.message.content, choice.message.content
    assert "tool_calls" not in answer.to_dict()["choices"][0]["message"]
    usage = answer.usage
    same(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens)
    assert usage.prompt_tokens > 0 and usage.completion_tokens > 0
    assert usage.prompt_tokens_details.cached_tokens >= 0
    same(usage.completion_tokens_details.reasoning_tokens, 0)
    assert answer._request_id, "no x-request-id"


@case
def null_is_absent_and_unknown_fields_are_ignored():
    answer = create(SUM, max_tokens=None, stop=None, tools=[], extra_body={
        "no_such_field": {"a": 1}, "stream_options": None, "top_logprobs": None,
        "logit_bias": None, "response_format": None, "user": "somebody", "store": False,
        "metadata": {"a": "b"}, "service_tier": "auto", "seed": None, "tool_choice": None})
    same(answer.choices[0].message.content, create(SUM).choices[0].message.content)


@case
def messages_of_every_role_and_shape():
    text = create([{"role": "system", "content": "You are a friendly assistant."}] + SUM)
    developer = create([{"role": "developer", "content": "You are a friendly assistant."}] + SUM)
    same(developer.choices[0].message.content, text.choices[0].message.content)
    parts = create([{"role": "user", "content": [{"type": "text", "text": "What is "},
                                                 {"type": "text", "text": "12 plus 30?"}]}])
    assert parts.choices[0].message.content
    for messages in (
            SUM + [{"role": "system", "content": "You are a friendly assistant."}] + SUM,
            SUM + SUM,
            [{"role": "assistant", "content": "Hello! Ask me."}] + SUM,
            CALL + [{"role": "assistant", "content": None, "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
                {"role": "tool", "tool_call_id": "a", "content": "done"}] + SUM,
            CALL + [{"role": "assistant", "content": None, "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{\"cut"}}]},
                {"role": "tool", "tool_call_id": "a", "content": "the arguments are no JSON"}] + SUM,
            SUM + [{"role": "assistant", "content": "42", "reasoning_content": "12+30"}] + SUM,
            SUM + [{"role": "assistant", "content": "42", "reasoning": "12+30"}] + SUM,
            SUM + [{"role": "assistant", "content": [{"type": "text", "text": "42"}]}] + SUM):
        assert create(messages, max_tokens=4).usage.completion_tokens > 0


@case
def both_limits_count_and_end_with_length():
    for fields in ({"max_tokens": 5}, {"max_completion_tokens": 5},
                   {"max_tokens": 5, "max_completion_tokens": 9},
                   {"max_tokens": 9, "max_completion_tokens": 5}):
        answer = create(STORY, **fields)
        same((answer.usage.completion_tokens, answer.choices[0].finish_reason), (5, "length"))


@case
def a_seed_repeats_an_answer():
    texts = [create(STORY, temperature=1, seed=seed, max_tokens=24).choices[0].message.content
             for seed in (7, 7, 8, 9, 10)]
    same(texts[0], texts[1])
    assert len(set(texts)) > 1, texts


@case
def stop_ends_the_text_before_it():
    whole = create(STORY, max_tokens=60).choices[0].message.content
    for stop in (whole[20:23], [whole[31:42], "never said"], whole[25]):
        first = min(whole.find(s) for s in ([stop] if isinstance(stop, str) else stop)
                    if s in whole)
        answer = create(STORY, max_tokens=60, stop=stop)
        same(answer.choices[0].message.content, whole[:first])
        same(answer.choices[0].finish_reason, "stop")
        streamed = chunks_of(STORY, max_tokens=60, stop=stop)
        same(text_of(streamed), whole[:first])


@case
def every_effort_that_the_package_knows():
    for effort in ("none", "minimal", "low", "medium", "high", "xhigh", "max", None):
        assert create(SUM, reasoning_effort=effort, max_tokens=2).usage.completion_tokens == 2


@case
def several_choices():
    answer = create(STORY, n=3, temperature=1, seed=5, max_tokens=16)
    same([c.index for c in answer.choices], [0, 1, 2])
    texts = [c.message.content for c in answer.choices]
    assert len(set(texts)) > 1, texts
    same(answer.usage.completion_tokens, 48)
    streamed = chunks_of(STORY, n=3, temperature=1, seed=5, max_tokens=16)
    same([text_of(streamed, i) for i in range(3)], texts)


@case
def logit_bias_by_ids_as_strings():
    first = create(SUM, logprobs=True, max_tokens=1).choices[0].logprobs.content[0].token
    tokens = client.post(BASE + "/tokenize", cast_to=object, body={"content": first})["tokens"]
    answer = create(SUM, logit_bias={str(tokens[0]): -100}, logprobs=True, max_tokens=1)
    assert answer.choices[0].logprobs.content[0].token != first


@case
def a_conversation_goes_on_from_its_cache():
    messages = STORY[:]
    first = create(messages, max_tokens=40)
    messages += [{"role": "assistant", "content": first.choices[0].message.content},
                 {"role": "user", "content": "Thank you!"}]
    second = create(messages, max_tokens=8)
    assert second.usage.prompt_tokens_details.cached_tokens >= first.usage.prompt_tokens, \
        second.usage
    assert second.usage.prompt_tokens_details.cached_tokens < second.usage.prompt_tokens


# ---- stream ---------------------------------------------------------------------------


@case
def stream_has_the_order_of_events():
    chunks = chunks_of(STORY, max_tokens=30)
    same(len({c.id for c in chunks}), 1)
    same(len({c.created for c in chunks}), 1)
    same(len({c.model for c in chunks}), 1)
    same({c.object for c in chunks}, {"chat.completion.chunk"})
    assert all(len(c.choices) == 1 for c in chunks), "a chunk without choices or with several"
    assert all("usage" not in c.to_dict() for c in chunks), "usage that nobody asked for"
    same(chunks[0].choices[0].delta.to_dict(), {"role": "assistant", "content": ""})
    same([c.choices[0].delta.role for c in chunks[1:]], [None] * (len(chunks) - 1))
    same(chunks[-1].choices[0].delta.to_dict(), {})
    same([c.choices[0].finish_reason for c in chunks], [None] * (len(chunks) - 1) + ["length"])
    assert len(chunks) > 5, "it came in one piece"
    same(text_of(chunks), create(STORY, max_tokens=30).choices[0].message.content)


@case
def usage_comes_last_when_asked_for():
    chunks = chunks_of(SUM, stream_options={"include_usage": True})
    same(chunks[-1].choices, [])
    whole = create(SUM).usage
    same((chunks[-1].usage.prompt_tokens, chunks[-1].usage.completion_tokens),
         (whole.prompt_tokens, whole.completion_tokens))
    same([c.usage for c in chunks[:-1]], [None] * (len(chunks) - 1))
    for options in ({}, {"include_usage": False}, {"include_obfuscation": False}, None):
        assert all(c.usage is None for c in chunks_of(SUM, stream_options=options))


@case
def the_stream_helper_builds_what_create_gives():
    # Not one that the limit ends: this client raises an error for that here.
    with chat.stream(model=MODEL, messages=ABOUT, temperature=0) as stream:
        texts = [e.delta for e in stream if e.type == "content.delta"]
        final = stream.get_final_completion()
    whole = create(ABOUT)
    same(final.choices[0].message.content, whole.choices[0].message.content)
    same("".join(texts), whole.choices[0].message.content)
    same(final.choices[0].finish_reason, "stop")
    same(final.choices[0].message.role, "assistant")


@case
def no_character_is_split_whatever_is_drawn():
    for seed in range(4):
        fields = {"temperature": 2, "top_p": 1, "seed": seed, "max_tokens": 150,
                  "extra_body": {"top_k": 0, "ignore_eos": True}}
        whole = create(SUM, **fields)
        same(text_of(chunks_of(SUM, **fields)), whole.choices[0].message.content)
        same(whole.usage.completion_tokens, 150)


@case
def a_client_that_leaves_frees_the_model():
    stream = create(STORY, stream=True, max_tokens=1500, extra_body={"ignore_eos": True})
    next(iter(stream))
    stream.close()
    begin = time.monotonic()
    create(SUM, max_tokens=1)
    took = time.monotonic() - begin
    assert took < 3, f"the next request waited {took:.1f} s"


@case
def many_at_once_get_what_each_gets_alone():
    async def all_of(prompts):
        async with openai.AsyncOpenAI(base_url=URL, api_key=KEY, timeout=120) as many:
            async def one(messages, stream):
                got = await many.chat.completions.create(
                    model=MODEL, messages=messages, temperature=0, max_tokens=20, stream=stream)
                if not stream:
                    return got.choices[0].message.content
                return text_of([chunk async for chunk in got])
            return await asyncio.gather(*(one(p, i % 2 == 0) for i, p in enumerate(prompts)))

    prompts = [[{"role": "user", "content": f"What is {i} plus {i + 3}?"}] for i in range(16)]
    alone = [create(p, max_tokens=20).choices[0].message.content for p in prompts]
    same(asyncio.run(all_of(prompts)), alone)


# ---- the accumulator: what broke clients elsewhere --------------------------------------


def tool_chunk(**call):
    return {"tool_calls": [call]}


@case
def accumulator_1_the_role_comes_once():
    bad = {}
    for _ in range(2):
        bad = accumulate_delta(bad, {"role": "assistant", "content": ""})
    same(bad["role"], "assistantassistant")
    same(fold(chunks_of(STORY, max_tokens=12))["role"], "assistant")
    same(fold(chunks_of(CALL, tools=[VOLUME]))["role"], "assistant")


@case
def accumulator_2_id_and_name_of_a_call_come_once():
    bad = {}
    for _ in range(2):
        bad = accumulate_delta(bad, tool_chunk(index=0, id="x", type="function",
                                               function={"name": "f", "arguments": ""}))
    same((bad["tool_calls"][0]["id"], bad["tool_calls"][0]["function"]["name"]), ("xx", "ff"))
    chunks = chunks_of(CALL, tools=[VOLUME], tool_choice="required")
    call = fold(chunks)["tool_calls"][0]
    same((call["type"], call["function"]["name"]), ("function", "set_volume"))
    pieces = [t for c in chunks for t in (c.choices[0].delta.tool_calls or [])
              if t.index == 0]
    same([p.id for p in pieces], [call["id"]] + [None] * (len(pieces) - 1))
    same(pieces[0].function.arguments, "")
    for piece in pieces[1:]:
        same(set(piece.to_dict()) | set(piece.function.to_dict()), {"index", "function", "arguments"})


def several_calls(**fields):
    """Pebble ends after one call; it is kept from ending. Each call is its own."""
    ends = {str(i): -100 for i in (1, 6)}
    return create(CALL, tools=[VOLUME, DOOR], tool_choice="required", logit_bias=ends,
                  max_tokens=150, **fields)


@case
def accumulator_3_each_call_has_its_index():
    bad = {}
    for name in "fg":
        bad = accumulate_delta(bad, tool_chunk(index=0, function={"name": name, "arguments": "{}"}))
    same(bad["tool_calls"][0]["function"], {"name": "fg", "arguments": "{}{}"})
    whole = several_calls().choices[0].message.tool_calls
    if len(whole) < 2:
        raise Skip("pebble made one call, whatever was done")
    calls = fold(list(several_calls(stream=True)))["tool_calls"]
    same([c["index"] for c in calls], list(range(len(calls))))
    same([(c["function"]["name"], c["function"]["arguments"]) for c in calls],
         [(c.function.name, c.function.arguments) for c in whole])
    same(len({c["id"] for c in calls}), len(calls))


@case
def accumulator_4_no_call_is_without_index():
    try:
        accumulate_delta({"tool_calls": [{"index": 0}]}, tool_chunk(function={"arguments": "{}"}))
        raise AssertionError("the client takes it now: the case can go")
    except RuntimeError:
        pass
    for chunk in chunks_of(CALL, tools=[VOLUME], tool_choice="required"):
        for call in chunk.choices[0].delta.tool_calls or []:
            assert isinstance(call.to_dict()["index"], int), chunk


@case
def accumulator_5_the_sum_is_what_create_gives():
    for fields in ({}, {"tools": [VOLUME]}, {"tools": [VOLUME], "tool_choice": "required"}):
        message = fold(chunks_of(CALL, **fields))
        whole = create(CALL, **fields).choices[0].message
        same(message.get("content") or None, whole.content or None)
        same([(c["function"]["name"], c["function"]["arguments"])
              for c in message.get("tool_calls", [])],
             [(c.function.name, c.function.arguments) for c in whole.tool_calls or []])


# ---- structured outputs -----------------------------------------------------------------


@case
def parse_gives_an_object_of_the_class():
    answer = chat.parse(model=MODEL, temperature=0, response_format=Person,
                        messages=[{"role": "user", "content": PERSON}])
    same(answer.choices[0].message.parsed, Person(name="Mina Flola", age=27))


@case
def a_schema_holds_whatever_is_drawn():
    class Light(BaseModel):
        state: Literal["on", "off"]
        levels: list[int]

    for seed in range(3):
        try:
            answer = chat.parse(model=MODEL, temperature=1.5, seed=seed, max_tokens=200,
                                response_format=Light, messages=STORY)
        except openai.LengthFinishReasonError:
            continue
        assert isinstance(answer.choices[0].message.parsed, Light)


@case
def parse_takes_what_pydantic_can_describe():
    kinds = [datetime.datetime, datetime.date, datetime.time, uuid.UUID, Optional[int],
             Literal["a", 1, None], Color, Person, list[Person], dict[str, int], tuple[int, str],
             Annotated[int, Field(ge=1, le=9)], Annotated[float, Field(gt=0, lt=1)],
             Annotated[str, Field(pattern=r"^\d{3}$")], Union[int, Person], bool, float, Any,
             Annotated[list[int], Field(min_length=2, max_length=4)]]
    parsed = 0
    for kind in kinds:
        wanted = create_model("Wanted", v=(kind, ...))
        try:
            chat.parse(model=MODEL, temperature=1, seed=1, max_tokens=150, response_format=wanted,
                       messages=[{"role": "user", "content": "Fill this in: {\"v\": \"...\"}"}])
            parsed += 1
        except openai.LengthFinishReasonError:
            pass
    assert parsed > len(kinds) // 2, f"only {parsed} were not cut off"


@case
def a_schema_in_a_stream():
    with chat.stream(model=MODEL, temperature=0, response_format=Person,
                     messages=[{"role": "user", "content": PERSON}]) as stream:
        done = [e.parsed for e in stream if e.type == "content.done"]
        final = stream.get_final_completion()
    same(done, [Person(name="Mina Flola", age=27)])
    same(final.choices[0].message.parsed, done[0])


@case
def json_object_is_an_object():
    answer = create([{"role": "user", "content": PERSON}], response_format={"type": "json_object"})
    assert isinstance(json.loads(answer.choices[0].message.content), dict)
    answer = create(STORY, temperature=1, seed=1, max_tokens=300,
                    response_format={"type": "json_object"})
    if answer.choices[0].finish_reason == "stop":
        assert isinstance(json.loads(answer.choices[0].message.content), dict)


# ---- tools --------------------------------------------------------------------------------


@case
def a_tool_is_called_and_its_result_told():
    messages = CALL[:]
    answer = create(messages, tools=[VOLUME, DOOR])
    choice = answer.choices[0]
    same((choice.finish_reason, choice.message.content), ("tool_calls", None))
    call = choice.message.tool_calls[0]
    same((call.type, call.function.name), ("function", "set_volume"))
    same(json.loads(call.function.arguments), {"level": 9})
    messages += [choice.message, {"role": "tool", "tool_call_id": call.id,
                                  "content": json.dumps({"level": 9})}]
    told = create(messages, tools=[VOLUME, DOOR]).choices[0]
    same((told.finish_reason, told.message.tool_calls), ("stop", None))
    assert "9" in told.message.content, told.message.content


@case
def a_streamed_call_is_that_of_create():
    chunks = chunks_of(CALL, tools=[VOLUME, DOOR])
    same(chunks[-1].choices[0].finish_reason, "tool_calls")
    whole = create(CALL, tools=[VOLUME, DOOR]).choices[0].message.tool_calls[0]
    call = fold(chunks)["tool_calls"][0]
    same((call["function"]["name"], call["function"]["arguments"]),
         (whole.function.name, whole.function.arguments))
    assert not text_of(chunks), text_of(chunks)


@case
def every_tool_choice():
    none = create(CALL, tools=[VOLUME], tool_choice="none").choices[0]
    same((none.message.tool_calls, none.finish_reason), (None, "stop"))
    required = create(STORY, tools=[VOLUME, DOOR], tool_choice="required").choices[0]
    assert required.message.tool_calls and required.finish_reason == "tool_calls", required
    named = create(STORY, tools=[VOLUME, DOOR], max_tokens=300, tool_choice={
        "type": "function", "function": {"name": "lock_door"}}).choices[0]
    same([c.function.name for c in named.message.tool_calls], ["lock_door"])
    same(named.finish_reason, "stop")
    arguments = json.loads(named.message.tool_calls[0].function.arguments)
    assert isinstance(arguments["state"], bool) and isinstance(arguments["door_name"], str)


@case
def at_most_one_call_if_not_parallel():
    assert len(several_calls(parallel_tool_calls=False).choices[0].message.tool_calls) == 1


@case
def parse_gives_the_arguments_of_a_call():
    answer = chat.parse(model=MODEL, messages=CALL, temperature=0,
                        tools=[openai.pydantic_function_tool(set_volume)])
    same(answer.choices[0].message.tool_calls[0].function.parsed_arguments, set_volume(level=9))


@case
def the_stream_helper_tells_of_calls():
    with chat.stream(model=MODEL, messages=CALL, temperature=0,
                     tools=[openai.pydantic_function_tool(set_volume)]) as stream:
        done = [e for e in stream if e.type == "tool_calls.function.arguments.done"]
        final = stream.get_final_completion()
    same([(e.name, e.index, e.parsed_arguments) for e in done],
         [("set_volume", 0, set_volume(level=9))])
    same(final.choices[0].finish_reason, "tool_calls")


# ---- log-probabilities ------------------------------------------------------------------


def check_logprobs(entries, text, top):
    same(b"".join(bytes(e.bytes) for e in entries).decode(), text)
    for e in entries:
        assert e.logprob <= 0 and math.isfinite(e.logprob), e
        same(len(e.top_logprobs), top)
        order = [t.logprob for t in e.top_logprobs]
        same(order, sorted(order, reverse=True))
        if top:
            same((e.top_logprobs[0].token, e.top_logprobs[0].logprob), (e.token, e.logprob))


@case
def logprobs_of_each_token():
    for top in (0, 5, 20):
        answer = create(STORY, logprobs=True, top_logprobs=top, max_tokens=20)
        check_logprobs(answer.choices[0].logprobs.content,
                       answer.choices[0].message.content, top)
        same(len(answer.choices[0].logprobs.content), 20)


@case
def logprobs_of_a_stream_are_those_of_create():
    fields = {"logprobs": True, "top_logprobs": 3, "max_tokens": 20}
    whole = create(STORY, **fields).choices[0]
    chunks = chunks_of(STORY, **fields)
    entries = [e for c in chunks if c.choices[0].logprobs
               for e in c.choices[0].logprobs.content or []]
    same([(e.token, e.logprob) for e in entries],
         [(e.token, e.logprob) for e in whole.logprobs.content])
    with chat.stream(model=MODEL, messages=ABOUT, temperature=0, logprobs=True) as stream:
        final = stream.get_final_completion()
    whole = create(ABOUT, logprobs=True).choices[0]
    same([e.token for e in final.choices[0].logprobs.content],
         [e.token for e in whole.logprobs.content])


@case
def logprobs_with_tools_in_a_stream():
    fields = {"tools": [VOLUME], "logprobs": True, "top_logprobs": 2}
    whole = create(CALL, **fields).choices[0]
    assert whole.message.tool_calls and whole.logprobs.content
    entries = [e for c in chunks_of(CALL, **fields) if c.choices[0].logprobs
               for e in c.choices[0].logprobs.content or []]
    same([e.token for e in entries], [e.token for e in whole.logprobs.content])


# ---- errors -----------------------------------------------------------------------------


@case
def bad_requests_name_the_field():
    bad = openai.BadRequestError
    for stream in (False, True):
        refused(bad, 400, "temperature", "temperature", temperature=3, stream=stream)
        refused(bad, 400, "top_logprobs", "top_logprobs", top_logprobs=2, stream=stream)
        refused(bad, 400, "max_tokens", "max_tokens", max_tokens=0, stream=stream)
        refused(bad, 400, "", "max_completion_tokens", max_completion_tokens=-5, stream=stream)
        refused(bad, 400, "", "messages", messages=[], stream=stream)
        refused(bad, 400, "", "n", n=0, stream=stream)
    picture = [{"role": "user", "content": [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}]}]
    try:
        chat.create(model=MODEL, messages=picture)
        raise AssertionError("was not refused")
    except bad as e:
        assert "image_url" in e.body["message"] and e.param.startswith("messages"), e.body


@case
def a_schema_that_cannot_be_held_is_refused():
    schema = {"type": "object", "properties": {"a": {"type": "no such type"}}}
    for stream in (False, True):
        try:
            create(SUM, stream=stream, response_format={"type": "json_schema", "json_schema": {
                "name": "a", "schema": schema, "strict": True}})
            raise AssertionError("was not refused")
        except openai.BadRequestError as e:
            assert e.param and e.param.startswith("response_format"), e.body


@case
def too_long_is_said_in_the_words_that_agents_look_for():
    long = [{"role": "user", "content": "one two three " * 3000}]
    for stream in (False, True):
        e = refused(openai.BadRequestError, 400, "maximum context length is", "messages",
                    "context_length_exceeded", messages=long, stream=stream)
        assert "Please reduce the length" in e.body["message"], e.body
    refused(openai.BadRequestError, 400, "maximum context length is", "messages",
            "context_length_exceeded", max_tokens=1000000)


@case
def embeddings_have_length_one():
    texts = ["What is vug?", "Why?"]
    both = client.embeddings.create(model=MODEL, input=texts)  # in base64, without our doing
    assert [e.index for e in both.data] == [0, 1]
    for text, e in zip(texts, both.data):
        assert abs(sum(x * x for x in e.embedding) - 1) < 1e-5
        alone = client.embeddings.create(model=MODEL, input=text, encoding_format="float")
        # The decimals are the shortest that stand for the F32 numbers of base64.
        as_f32 = [ctypes.c_float(x).value for x in alone.data[0].embedding]
        assert as_f32 == list(e.embedding), text
    assert both.usage.prompt_tokens == both.usage.total_tokens > 0


@case
def unknown_models_and_paths():
    refused(openai.NotFoundError, 404, "no/such-model", "model", "model_not_found",
            model="no/such-model")
    try:
        client.moderations.create(model=MODEL, input="x")
        raise AssertionError("was not refused")
    except openai.NotFoundError as e:
        assert e.code is None or isinstance(e.code, str)
        assert e.body["message"]


@case
def a_wrong_key_is_an_authentication_error():
    if KEY == "none":
        raise Skip("the server has no key")
    try:
        client.with_options(api_key="wrong").chat.completions.create(model=MODEL, messages=SUM)
        raise AssertionError("was not refused")
    except openai.AuthenticationError as e:
        same((e.status_code, e.type), (401, "authentication_error"))


@case
def nothing_that_is_refused_is_tried_again():
    raw = client.with_options(max_retries=3).chat.completions.with_raw_response
    tried = []
    original = client._client.send

    def count(request, **options):
        tried.append(request.url)
        return original(request, **options)

    client._client.send = count
    try:
        raw.create(model=MODEL, messages=SUM, temperature=9)
        raise AssertionError("was not refused")
    except openai.BadRequestError:
        same(len(tried), 1)
    finally:
        del client._client.send


# ---- other endpoints --------------------------------------------------------------------


@case
def models_are_listed_and_found():
    models = list(client.models.list())
    assert MODEL in [m.id for m in models], models
    model = client.models.retrieve(MODEL)
    same((model.id, model.object), (MODEL, "model"))
    assert isinstance(model.created, int) and isinstance(model.owned_by, str)
    assert model.context_length == model.max_model_len > 0
    try:
        client.models.retrieve("no/such-model")
        raise AssertionError("was found")
    except openai.NotFoundError as e:
        same(e.code, "model_not_found")


@case
def the_example_of_the_documentation():
    program, printed = page_example("python")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          timeout=120, check=False)
    same((done.stdout, done.returncode), (printed, 0))


@case
def completions_take_text_lists_and_tokens():
    def complete(prompt, **fields):
        return client.completions.create(model=MODEL, prompt=prompt, temperature=0,
                                         **{"max_tokens": 8, **fields})

    text = "Once upon a time"
    one = complete(text)
    same((one.object, one.choices[0].index), ("text_completion", 0))
    assert one.id.startswith("cmpl-") and one.choices[0].finish_reason == "length"
    two = complete([text, text])
    same([(c.index, c.text) for c in two.choices], [(i, one.choices[0].text) for i in (0, 1)])
    tokens = client.post(BASE + "/tokenize", cast_to=object, body={"prompt": text})["tokens"]
    same(complete(tokens).choices[0].text, one.choices[0].text)
    same([c.text for c in complete([tokens, tokens]).choices], [one.choices[0].text] * 2)
    streamed = "".join(c.choices[0].text for c in complete(text, stream=True))
    same(streamed, one.choices[0].text)


@case
def completions_echo_with_logprobs():
    for most in (0, 1):
        answer = client.completions.create(model=MODEL, prompt="Once upon a time", echo=True,
                                           logprobs=2, max_tokens=most, temperature=0)
        got = answer.choices[0]
        assert got.text.startswith("Once upon a time"), got.text
        p = got.logprobs
        same(len({len(p.tokens), len(p.token_logprobs), len(p.text_offset), len(p.top_logprobs)}), 1)
        same(p.token_logprobs[0], None)
        assert all(x <= 0 for x in p.token_logprobs[1:]), p.token_logprobs
        same(answer.usage.completion_tokens, most)


@case
def a_misspelled_keyword_is_in_a_header():
    def warning(schema):
        answer = client.chat.completions.with_raw_response.create(
            model=MODEL, messages=SUM, max_tokens=4, response_format={
                "type": "json_schema", "json_schema": {"name": "x", "schema": schema}})
        return answer.headers.get("x-vug-warning")

    assert "did you mean 'maxLength'?" in warning({"type": "string", "maxLenght": 9})
    same(warning({"type": "string", "maxLength": 9, "markdownDescription": "x"}), None)


@case
def listed_ids_have_log_probabilities():
    top = create(SUM, max_tokens=1, logprobs=True, top_logprobs=3).choices[0].logprobs.content[0]
    ids = [client.post(BASE + "/tokenize", cast_to=object, body={"content": t.token})["tokens"]
           for t in top.top_logprobs]
    wanted = [i[0] for i in ids if len(i) == 1][::-1]
    listed = create(SUM, max_tokens=1, logprobs=True, extra_body={"logprob_token_ids": wanted})
    known = {t.token: t.logprob for t in top.top_logprobs}
    got = listed.choices[0].logprobs.content[0].top_logprobs
    same(len(got), len(wanted))
    for t in got:
        same(t.logprob, known[t.token])


@case
def a_gap_needs_a_model_that_can_fill_it():
    for path, body in (("/infill", {"input_prefix": "a", "input_suffix": "b"}),
                       ("/v1/completions", {"prompt": "a", "suffix": "b"})):
        try:
            client.post(BASE + path, cast_to=object, body=body)
            raise AssertionError(f"{path} was answered")
        except openai.BadRequestError as e:
            assert "<|fim_prefix|>" in e.message, e.message


run()
