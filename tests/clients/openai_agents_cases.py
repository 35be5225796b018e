"""openai-agents with its OpenAIChatCompletionsModel: tools, streams, typed output, handoffs, sessions."""

import asyncio
import json

import openai
from agents import (Agent, ModelSettings, OpenAIChatCompletionsModel, Runner, SQLiteSession, function_tool,
                    set_tracing_disabled)
from pydantic import BaseModel

from cases import KEY, MODEL, PERSON, STORY, URL, case, run, same

set_tracing_disabled(True)
SUM, ASK = "What is 12 plus 30?", "Set the volume to 9"
levels = []
loop = asyncio.new_event_loop()  # one for all: a client keeps connections of the loop that it began in


class Person(BaseModel):
    name: str
    age: int


@function_tool
def set_volume(level: int) -> str:
    """Sets the volume of the speaker"""
    levels.append(level)
    return json.dumps({"level": level})


def agent(model=MODEL, settings=None, name="helper", **fields):
    own = openai.AsyncOpenAI(base_url=URL, api_key=KEY, timeout=120)
    return Agent(name, model=OpenAIChatCompletionsModel(model=model, openai_client=own),
                 model_settings=ModelSettings(temperature=0, **(settings or {})), **fields)


def ask(one, prompt, **fields):
    levels.clear()
    return loop.run_until_complete(Runner.run(one, prompt, **fields))


def ask_in_a_stream(one, prompt):
    """The result, and the types of the events that came."""
    async def go():
        result = Runner.run_streamed(one, prompt)
        types = [e.data.type async for e in result.stream_events() if e.type == "raw_response_event"]
        return result, types

    levels.clear()
    return loop.run_until_complete(go())


@case
def text_with_its_usage():
    result = ask(agent(instructions="You are a friendly assistant."), SUM)
    assert "42" in result.final_output, result.final_output
    usage = result.context_wrapper.usage
    same(usage.total_tokens, usage.input_tokens + usage.output_tokens)
    assert usage.output_tokens > 0


@case
def tools_with_their_results():
    result = ask(agent(tools=[set_volume]), ASK)
    same(levels, [9])
    assert "9" in result.final_output, result.final_output


@case
def tools_that_must_be_called():
    for choice in ("required", "set_volume"):
        ask(agent(tools=[set_volume], settings={"tool_choice": choice, "parallel_tool_calls": False}), ASK)
        same((choice, levels), (choice, [9]))


@case
def a_stream_has_its_events():
    result, types = ask_in_a_stream(agent(settings={"include_usage": True}), SUM)
    assert "42" in result.final_output, result.final_output
    same((types[0], types[-1]), ("response.created", "response.completed"))
    assert types.count("response.output_text.delta") > 3, types
    assert result.context_wrapper.usage.output_tokens > 0


@case
def tools_in_a_stream():
    result, types = ask_in_a_stream(agent(tools=[set_volume]), ASK)
    same(levels, [9])
    assert "9" in result.final_output, result.final_output
    assert types.count("response.function_call_arguments.delta") > 1, types


@case
def typed_output():
    one = agent(output_type=Person)
    same(ask(one, PERSON).final_output, Person(name="Mina Flola", age=27))
    same(ask_in_a_stream(one, PERSON)[0].final_output, Person(name="Mina Flola", age=27))


@case
def a_handoff_beside_tools():
    other = agent(name="sums", handoff_description="adds numbers")
    assert ask(agent(handoffs=[other], tools=[set_volume]), SUM).final_output


@case
def a_session_goes_on():
    one, session = agent(tools=[set_volume]), SQLiteSession("a")
    ask(one, ASK, session=session)
    result = ask(one, "Thank you!", session=session)
    assert result.final_output and levels == [], result


@case
def settings_that_the_package_knows():
    result = ask(agent(settings={
        "max_tokens": 5, "top_p": 0.9, "presence_penalty": 0.1, "frequency_penalty": 0.1, "store": False,
        "metadata": {"a": "b"}, "verbosity": "low", "top_logprobs": 2}), STORY[0]["content"])
    same(result.context_wrapper.usage.output_tokens, 5)


@case
def errors_are_those_of_the_client():
    for model, prompt, kind, code in (
            ("no/such-model", SUM, openai.NotFoundError, "model_not_found"),
            (MODEL, "one two three " * 3000, openai.BadRequestError, "context_length_exceeded")):
        try:
            ask(agent(model), prompt)
            raise AssertionError("was not refused")
        except kind as e:
            same(e.code, code)


run()
