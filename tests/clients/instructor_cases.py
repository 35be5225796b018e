"""instructor: a model of Pydantic in each of the package's modes, whole and in parts."""

import asyncio
from typing import List, Literal, Optional

import instructor
import openai
from instructor import Mode
from pydantic import BaseModel, Field, field_validator

from cases import KEY, MODEL, PERSON, URL, case, run, same

MODES = (Mode.TOOLS, Mode.TOOLS_STRICT, Mode.JSON, Mode.JSON_SCHEMA, Mode.MD_JSON)
ASK = {"model": MODEL, "messages": [{"role": "user", "content": PERSON}], "temperature": 0}


class Person(BaseModel):
    name: str
    age: int


def check(person):
    """It is of a class made from Person."""
    assert isinstance(person, Person), person
    same((person.name, person.age), ("Mina Flola", 27))


def client(mode):
    own = openai.OpenAI(base_url=URL, api_key=KEY, timeout=120)
    return instructor.from_openai(own, mode=mode).chat.completions


@case
def a_model_in_each_mode():
    for mode in MODES:
        person, answer = client(mode).create_with_completion(response_model=Person, max_retries=0, **ASK)
        check(person)
        same((mode, answer.choices[0].finish_reason), (mode, "stop"))


@case
def partial_models_in_each_mode():
    for mode in MODES:
        got = list(client(mode).create_partial(response_model=Person, **ASK))
        same((mode, got[-1].name, got[-1].age), (mode, "Mina Flola", 27))
        assert len(got) > 3, f"{mode}: it came in one piece"


@case
def many_models_in_a_stream():
    for mode in (Mode.TOOLS, Mode.JSON_SCHEMA):
        got = list(client(mode).create_iterable(response_model=Person, max_tokens=300, **ASK))
        same((mode, got[0].age), (mode, 27))


@case
def schemas_with_parts_and_choices():
    class Item(BaseModel):
        """One thing of an order"""

        name: str = Field(description="what it is", min_length=1)
        kind: Literal["small", "large"]
        number: Optional[int] = None

    class Order(BaseModel):
        items: List[Item] = Field(min_length=1, max_length=2)
        paid: bool

    for mode in (Mode.TOOLS_STRICT, Mode.JSON_SCHEMA):
        order = client(mode).create(response_model=Order, max_tokens=600, max_retries=0, **ASK)
        assert isinstance(order, Order) and order.items[0].name, order


@case
def what_is_refused_is_asked_again_with_the_reason():
    seen = []

    class Age(BaseModel):
        age: int

        @field_validator("age")
        @classmethod
        def not_at_once(cls, age):
            seen.append(age)
            if len(seen) < 2:
                raise ValueError("look again")
            return age

    for mode in (Mode.TOOLS, Mode.JSON):
        seen.clear()
        client(mode).create(response_model=Age, max_retries=2, **ASK)
        same((mode, len(seen)), (mode, 2))


@case
def asynchronous():
    async def ask():
        async with openai.AsyncOpenAI(base_url=URL, api_key=KEY, timeout=120) as own:
            return await instructor.from_openai(own).chat.completions.create(response_model=Person, **ASK)

    check(asyncio.run(ask()))


run()
