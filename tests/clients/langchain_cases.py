"""langchain-openai: invoke, stream, bind_tools, with_structured_output."""

import asyncio

import openai
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAI
from pydantic import BaseModel

from cases import DOOR, KEY, MODEL, PERSON, STORY, URL, case, run, same


def chat(**fields):
    return ChatOpenAI(base_url=URL, api_key=KEY, model=MODEL, timeout=120,
                      **{"temperature": 0, **fields})


class Person(BaseModel):
    """A person"""

    name: str
    age: int


@tool
def set_volume(level: int) -> str:
    """Sets the volume of the speaker"""
    return f'{{"level": {level}}}'


ASK = "Set the volume to 9"


@case
def invoke():
    answer = chat().invoke("What is 12 plus 30?")
    assert "42" in answer.content, answer.content
    same(answer.response_metadata["finish_reason"], "stop")
    usage = answer.usage_metadata
    same(usage["total_tokens"], usage["input_tokens"] + usage["output_tokens"])
    assert answer.id and answer.response_metadata["model_name"]


@case
def messages_with_a_system_prompt_and_a_history():
    answer = chat().invoke([SystemMessage("You are a friendly assistant."), HumanMessage("My name is Mina."),
                            AIMessage("Hello Mina!"), HumanMessage("What is 1 plus 2?")])
    assert answer.content


@case
def max_tokens_by_its_new_name():
    answer = chat(max_tokens=5).invoke(STORY)
    same(answer.usage_metadata["output_tokens"], 5)
    same(answer.response_metadata["finish_reason"], "length")


@case
def stream_adds_up_to_invoke():
    model = chat(max_tokens=30)
    whole, n = None, 0
    for chunk in model.stream(STORY):
        whole = chunk if whole is None else whole + chunk
        n += 1
    same(whole.content, model.invoke(STORY).content)
    same(whole.response_metadata["finish_reason"], "length")
    assert n > 5, "it came in one piece"


@case
def stream_with_usage():
    model = chat(max_tokens=12, stream_usage=True)
    whole = None
    for chunk in model.stream(STORY):
        whole = chunk if whole is None else whole + chunk
    same(whole.usage_metadata["output_tokens"], 12)


@case
def bind_tools_over_two_steps():
    model = chat().bind_tools([set_volume])
    messages = [HumanMessage(ASK)]
    answer = model.invoke(messages)
    same([(c["name"], c["args"]) for c in answer.tool_calls], [("set_volume", {"level": 9})])
    same(answer.response_metadata["finish_reason"], "tool_calls")
    result = set_volume.invoke(answer.tool_calls[0])
    assert isinstance(result, ToolMessage)
    told = model.invoke(messages + [answer, result])
    assert "9" in told.content and not told.tool_calls, told


@case
def bind_tools_in_a_stream():
    whole = None
    for chunk in chat().bind_tools([set_volume]).stream(ASK):
        whole = chunk if whole is None else whole + chunk
    same([(c["name"], c["args"]) for c in whole.tool_calls], [("set_volume", {"level": 9})])
    same(whole.invalid_tool_calls, [])


@case
def bind_tools_with_a_choice():
    for choice in ("any", "required", "lock_door"):
        answer = chat(max_tokens=300).bind_tools([DOOR], tool_choice=choice).invoke(STORY)
        same(answer.tool_calls[0]["name"], "lock_door")
    none = chat().bind_tools([set_volume], tool_choice="none").invoke(ASK)
    same(none.tool_calls, [])


def structured(method):
    got = chat().with_structured_output(Person, method=method).invoke(PERSON)
    same(got, Person(name="Mina Flola", age=27))


@case
def structured_output_by_a_schema():
    structured("json_schema")


@case
def structured_output_by_a_call():
    answer = chat(max_tokens=300).with_structured_output(
        Person, method="function_calling").invoke("Mina Flola is 27")
    assert isinstance(answer, Person), answer


@case
def structured_output_by_json_mode():
    structured("json_mode")


@case
def structured_output_in_a_stream():
    got = list(chat().with_structured_output(Person, method="json_schema").stream(PERSON))
    same(got[-1], Person(name="Mina Flola", age=27))


@case
def logprobs():
    answer = chat(logprobs=True, top_logprobs=3, max_tokens=8).invoke(STORY)
    entries = answer.response_metadata["logprobs"]["content"]
    same((len(entries), len(entries[0]["top_logprobs"])), (8, 3))


@case
def batch_and_async():
    model = chat(max_tokens=12)
    prompts = [f"What is {i} plus 4?" for i in range(6)]
    alone = [model.invoke(p).content for p in prompts]
    same([a.content for a in model.batch(prompts)], alone)

    async def all_of():
        return await asyncio.gather(*(model.ainvoke(p) for p in prompts))

    same([a.content for a in asyncio.run(all_of())], alone)


@case
def several_choices():
    result = chat(n=2, temperature=1, seed=3, max_tokens=12).generate([[HumanMessage("Tell me a story")]])
    same(len(result.generations[0]), 2)


@case
def stop():
    whole = chat(max_tokens=30).invoke(STORY).content
    same(chat(max_tokens=30).invoke(STORY, stop=[whole[20:23]]).content,
         whole[:whole.find(whole[20:23])])


@case
def completions():
    answer = OpenAI(base_url=URL, api_key=KEY, model=MODEL, temperature=0, max_tokens=8)
    text = answer.invoke("Once upon a time")
    assert text
    same("".join(answer.stream("Once upon a time")), text)


@case
def too_long_is_known_as_an_overflow():
    try:
        chat(max_retries=0).invoke("one two three " * 3000)
        raise AssertionError("was not refused")
    except openai.BadRequestError as e:
        same(e.code, "context_length_exceeded")
        assert "maximum context length is" in str(e)


run()
