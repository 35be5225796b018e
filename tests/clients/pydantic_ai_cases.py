"""pydantic-ai: answers, typed output in all three ways, tools, streams, errors."""

import asyncio

from pydantic import BaseModel
from pydantic_ai import Agent, ModelHTTPError, NativeOutput, PromptedOutput, ToolOutput
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from cases import ABOUT, KEY, MODEL, PERSON, STORY, URL, case, run, same

SUM = "What is 12 plus 30?"


class Person(BaseModel):
    name: str
    age: int


class Door(BaseModel):
    door_name: str
    locked: bool


MINA = Person(name="Mina Flola", age=27)


def agent(model=MODEL, settings=None, **fields):
    provider = OpenAIProvider(base_url=URL, api_key=KEY)
    return Agent(OpenAIChatModel(model, provider=provider),
                 model_settings={"temperature": 0, **(settings or {})}, **fields)


def with_volume(**fields):
    """An agent with a tool, and what the tool was called with."""
    levels = []
    one = agent(**fields)

    @one.tool_plain
    def set_volume(level: int) -> dict:
        """Sets the volume of the speaker"""
        levels.append(level)
        return {"level": level}

    return one, levels


async def streamed(one, prompt):
    """The pieces of the text, and the usage."""
    async with one.run_stream(prompt) as result:
        pieces = [piece async for piece in result.stream_text(delta=True, debounce_by=None)]
        return pieces, result.usage


async def outputs(one, prompt):
    async with one.run_stream(prompt) as result:
        return [output async for output in result.stream_output(debounce_by=None)]


@case
def text_with_its_usage():
    result = agent().run_sync(SUM)
    assert "42" in result.output, result.output
    usage = result.usage
    assert usage.input_tokens > 0 and usage.output_tokens > 0 and usage.requests == 1, usage
    same(result.response.finish_reason, "stop")


@case
def instructions_and_a_history():
    one = agent(system_prompt="You are a friendly assistant.", instructions="Be brief.")
    first = one.run_sync("My name is Mina.")
    second = one.run_sync("What is my name?", message_history=first.all_messages())
    assert "Mina" in second.output, second.output


@case
def a_stream_adds_up_to_the_whole():
    prompt = ABOUT[0]["content"]
    pieces, usage = asyncio.run(streamed(agent(), prompt))
    whole = agent().run_sync(prompt)
    same("".join(pieces), whole.output)
    same((usage.input_tokens, usage.output_tokens),
         (whole.usage.input_tokens, whole.usage.output_tokens))
    assert len(pieces) > 5, "it came in one piece"


@case
def output_by_a_schema():
    same(agent(output_type=NativeOutput(Person)).run_sync(PERSON).output, MINA)


@case
def output_by_one_of_several_schemas():
    output = agent(output_type=NativeOutput([Person, Door])).run_sync(PERSON).output
    assert isinstance(output, (Person, Door)) and "Mina Flola" in str(output), output


@case
def output_by_a_tool():
    same(agent(output_type=ToolOutput(Person)).run_sync("Mina Flola is 27").output, MINA)


@case
def output_by_json_mode():
    same(agent(output_type=PromptedOutput(Person)).run_sync(PERSON).output, MINA)


@case
def output_in_a_stream():
    for kind, prompt in ((NativeOutput(Person), PERSON), (ToolOutput(Person), "Mina Flola is 27")):
        got = asyncio.run(outputs(agent(output_type=kind), prompt))
        same(got[-1], MINA)


@case
def tools_with_their_results():
    one, levels = with_volume()
    result = one.run_sync("Set the volume to 9")
    same(levels, [9])
    assert "9" in result.output, result.output
    same((result.usage.requests, result.usage.tool_calls), (2, 1))


@case
def tools_in_a_stream():
    one, levels = with_volume()
    pieces, usage = asyncio.run(streamed(one, "Set the volume to 9"))
    same(levels, [9])
    assert "9" in "".join(pieces), pieces
    same(usage.requests, 2)


@case
def settings_that_the_package_knows():
    result = agent(settings={
        "max_tokens": 5, "top_p": 0.9, "seed": 3, "presence_penalty": 0.1, "frequency_penalty": 0.1,
        "stop_sequences": ["never said"], "parallel_tool_calls": False, "logit_bias": {"5": 1},
        "openai_reasoning_effort": "low", "openai_logprobs": True, "openai_top_logprobs": 2,
        "openai_user": "somebody", "openai_service_tier": "auto"}).run_sync(STORY[0]["content"])
    same((result.usage.output_tokens, result.response.finish_reason), (5, "length"))
    same(len(result.response.provider_details["logprobs"]), 5)


@case
def errors_have_their_status():
    for model, prompt, status, code in (("no/such-model", SUM, 404, "model_not_found"),
                                        (MODEL, "one two three " * 3000, 400, "context_length_exceeded")):
        try:
            agent(model).run_sync(prompt)
            raise AssertionError("was not refused")
        except ModelHTTPError as e:
            same((e.status_code, e.body["code"]), (status, code))


run()
