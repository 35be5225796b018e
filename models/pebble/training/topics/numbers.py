"""Addition and subtraction of numbers up to 99, in digits, in words and in small stories,
with exact answers."""

from topics.case import Case, Table, casual, held, one_of, system, wrap

ONES = ("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
        "fifteen sixteen seventeen eighteen nineteen").split()
TENS = "- - twenty thirty forty fifty sixty seventy eighty ninety".split()

# {b} is added to {a} or subtracted from it.
PLUS = [
    "What is {a} + {b}?", "{a} + {b}", "{a}+{b}", "{a} + {b} =", "{a}+{b}=", "{a}+{b}=?", "{a} + {b} = ?", "What's {a} + {b}?",
    "What is {a} plus {b}?", "{a} plus {b}", "{a} plus {b}?", "What's {a} plus {b}?", "How much is {a} + {b}?",
    "How much is {a} plus {b}?", "Add {a} and {b}.", "Add {b} to {a}.", "Add up {a} and {b}.", "Add {a} and {b} together.",
    "Compute {a} + {b}.", "Calculate {a} + {b}.", "Work out {a} + {b}.", "Solve {a} + {b}.", "Evaluate {a} + {b}.",
    "Calculate {a} plus {b}.", "Calculate the sum of {a} and {b}.", "The sum of {a} and {b}?",
    "What is the sum of {a} and {b}?", "What's the sum of {a} and {b}?", "Find the sum of {a} and {b}.", "sum {a} {b}",
    "sum of {a} and {b}", "What do you get when you add {a} and {b}?", "What do {a} and {b} make?",
    "What does {a} + {b} equal?", "What does {a} plus {b} make?", "{a} + {b} equals what?", "{a} and {b} together?",
    "Can you add {a} and {b}?", "Can you add {b} to {a} for me?", "Please add {a} and {b}.", "Please compute {a} + {b}.",
    "Could you calculate {a} + {b}?", "Could you tell me what {a} + {b} is?", "Do you know what {a} + {b} is?",
    "Tell me {a} + {b}.", "Tell me the sum of {a} and {b}.", "Give me {a} plus {b}.", "I need the sum of {a} and {b}.",
    "I want to know {a} + {b}.", "What is the result of {a} + {b}?", "What is the total of {a} and {b}?",
    "If I add {b} to {a}, what do I get?", "If you add {a} and {b}, what is the result?", "{b} more than {a} is what?",
    "What number is {b} more than {a}?", "Increase {a} by {b}.", "{a} increased by {b}?", "add {a} {b}", "add {a} + {b}",
    "math: {a} + {b}", "Sum: {a} and {b}", "Which number is {a} + {b}?", "How many are {a} and {b}?", "is it hard to add {a} and {b}? What is it?",
]
MINUS = [
    "What is {a} - {b}?", "{a} - {b}", "{a}-{b}", "{a} - {b} =", "{a}-{b}=", "{a}-{b}=?", "{a} - {b} = ?", "What's {a} - {b}?",
    "What is {a} minus {b}?", "{a} minus {b}", "{a} minus {b}?", "What's {a} minus {b}?", "How much is {a} - {b}?",
    "How much is {a} minus {b}?", "Subtract {b} from {a}.", "Take {b} from {a}.", "Take {b} away from {a}.",
    "Take away {b} from {a}.", "Deduct {b} from {a}.", "Compute {a} - {b}.", "Calculate {a} - {b}.", "Work out {a} - {b}.", "Solve {a} - {b}.",
    "Evaluate {a} - {b}.", "Calculate {a} minus {b}.", "What do you get when you subtract {b} from {a}?",
    "What remains when you take {b} from {a}?", "What is left of {a} after taking away {b}?", "What does {a} - {b} equal?",
    "What does {a} minus {b} make?", "{a} - {b} equals what?", "Can you subtract {b} from {a}?",
    "Can you take {b} away from {a} for me?", "Please subtract {b} from {a}.", "Please compute {a} - {b}.",
    "Could you calculate {a} - {b}?", "Could you tell me what {a} - {b} is?", "Do you know what {a} - {b} is?",
    "Tell me {a} - {b}.", "Give me {a} minus {b}.", "I need the result of {a} - {b}.", "I want to know {a} - {b}.",
    "What is the result of {a} - {b}?", "If I take {b} from {a}, what do I get?", "If you subtract {b} from {a}, what is left?",
    "{b} less than {a} is what?", "What number is {b} less than {a}?", "Decrease {a} by {b}.", "{a} decreased by {b}?",
    "Reduce {a} by {b}.", "subtract {b} from {a}", "math: {a} - {b}", "{a} take away {b}", "{a} less {b}?",
    "Which number is {a} - {b}?", "subtract: {a} - {b}", "minus: {a} - {b}",
]
# Here {a} is at least {b}, in either order.
APART = ["What is the difference between {x} and {y}?", "The difference of {x} and {y}?", "difference between {x} and {y}",
         "How far apart are {x} and {y}?", "Find the difference between {x} and {y}.", "Calculate the difference of {x} and {y}."]

THINGS = ("dogs cats toys rings maps pens cans pies boats melons potatoes tomatoes sweets dolls "
          "apples pears coins stones shells books pencils marbles stamps eggs nuts cards cookies buttons balls flowers cups "
          "keys leaves lamps boxes carrots cakes tickets plums chairs bottles fish birds sheep cows ducks letters "
          "crystals pebbles feathers hats socks spoons candles grapes lemons berries beans bricks nails").split()
PEOPLE = ("Ada Tom Mia Ben Lia Sam Eva Max Ida Leo Zoe Kim Noa Jan Ria Otto Nina Paul Rosa Finn Anna Luis Mara Hugo Ella Omar "
          "Yuki Amir Tara Igor Lena Carl Dora Emil Gita Hana Ivan Jola Kofi Lulu").split()
MORE = [
    "{who} has {a} {what} and gets {b} more. How many {what} does {who} have now?",
    "{who} has {a} {what}. {who} finds {b} more. How many {what} are there in all?",
    "There are {a} {what} in one box and {b} in another. How many {what} are there together?",
    "{who} buys {a} {what} on Monday and {b} on Tuesday. How many {what} is that in total?",
    "I have {a} {what} and you give me {b}. How many {what} do I have?",
    "{who} counts {a} {what} and then {b} more. How many {what} did {who} count?",
    "A shop has {a} {what}. {b} more arrive. How many {what} does the shop have?",
    "{who} has {a} {what}, and a friend has {b}. How many {what} do they have together?",
    "If I have {a} {what} and buy another {b}, how many {what} do I have?",
    "{who} had {a} {what} and bought {b} more. How many {what} does {who} have now?", "{who} has {a} {what}. {other} gives {who} {b}. How many {what} has {who}?",
    "{who} has {a} {what} and {other} has {b}. How many {what} do they have together?", "{who} found {a} {what} and {other} found {b}. How many in all?",
    "There are {a} {what} on the table and {b} on the floor. How many {what} are there?", "{who} has {a} {what}. How many are it with {b} more?",
    "I bought {a} {what} yesterday and {b} today. How many did I buy?", "{a} {what} and {b} {what} are how many {what}?",
    "{who} picks {a} {what} and {other} picks {b}. How many {what} are picked in total?", "A box holds {a} {what}. We put {b} more in. How many are in it?",
]
FEWER = [
    "{who} has {a} {what} and gives away {b}. How many {what} are left?",
    "{who} has {a} {what}. {who} loses {b}. How many {what} does {who} still have?",
    "There are {a} {what} in a box. {who} takes {b} out. How many {what} remain?",
    "I had {a} {what} and sold {b}. How many {what} do I have now?",
    "A shop has {a} {what} and sells {b}. How many {what} are left?",
    "{who} had {a} {what} and used {b} of them. How many {what} are left over?",
    "Of {a} {what}, {b} are broken. How many {what} are fine?",
    "If I have {a} {what} and lose {b}, how many {what} do I have?",
    "{who} needs {a} {what} and has {b}. How many {what} are missing?",
    "{who} wants {a} {what} but has only {b}. How many are missing?", "I need {a} {what} and have {b}. How many more do I need?",
    "{who} has {b} {what} and needs {a}. How many more does {who} need?", "{who} has {a} {what} and {other} has {b}. How many more does {who} have?",
    "{who} had {a} {what} and lost {b}. How many {what} has {who} now?", "{who} has {a} {what} and loses {b}. How many are left?",
    "{who} has {a} {what} and sells {b}. How many {what} are left?", "{who} had {a} {what} and sold {b}. How many remain?",
    "{who} had {a} {what}. {other} took {b}. How many {what} are left?", "{who} has {a} {what} and eats {b}. How many are left?",
    "{who} gives {b} of {a} {what} to {other}. How many {what} does {who} keep?", "There were {a} {what} and {b} are gone. How many are left?",
    "{who} had {a} {what} and gave {b} to {other}. How many {what} does {who} have now?", "A box holds {a} {what}. We take out {b}. How many are in it?",
    "I have {a} {what} and give away {b}. How many do I keep?", "{who} has {a} {what} and uses {b}. How many {what} are left?",
    "From {a} {what}, {who} takes {b}. How many {what} stay?", "{who} breaks {b} of {a} {what}. How many {what} are whole?",
]
NUMBER_ONLY = ["Answer with the number only.", "Only the number, please.", "Reply with just the number.", "Just the number.",
               "Give only the result."]
AND_MORE = ["And {b} more?", "Now add {b}.", "And plus {b}?", "Add {b} to that.", "plus {b}?", "And now + {b}?", "Then add {b}.",
            "And with {b} more?", "What if I add {b}?"]
AND_LESS = ["And minus {b}?", "Now subtract {b}.", "Take {b} from that.", "minus {b}?", "And now - {b}?", "Then subtract {b}.",
            "And {b} less?", "What if I take away {b}?"]
AND_ALSO = ["And {a} {op} {b}?", "What about {a} {op} {b}?", "Now {a} {op} {b}.", "And {a} {op} {b}", "{a} {op} {b}?", "Then {a} {op} {b}?",
            "Ok, {a} {op} {b}?"]


def in_words(n):
    if n < 20:
        return ONES[n]
    return TENS[n // 10] + ("-" + ONES[n % 10] if n % 10 else "")


def written(rng, n, words):
    if not words:
        return str(n)
    text = in_words(n)
    return text.replace("-", " ") if rng.random() < 0.3 else text


def number(rng):
    """Mostly two digits, sometimes one."""
    return rng.randrange(10, 100) if rng.random() < 0.85 else rng.randrange(0, 10)


def operands(rng, held_out, op, ordered=False):
    while True:
        a, b = number(rng), number(rng)
        if op == "-" and a < b and (ordered or rng.random() < 0.75):
            a, b = b, a
        if held(f"{a}{op}{b}") == bool(held_out):
            return a, b


def result(a, op, b):
    return a + b if op == "+" else a - b


def answer(a, op, b):
    return f"{a} {op} {b} = {result(a, op, b)}"


def plain(rng, held_out):
    """The question and its two numbers."""
    op = one_of(rng, "+", "-")
    if op == "-" and rng.random() < 0.08:
        a, b = operands(rng, held_out, op, ordered=True)
        x, y = (a, b) if rng.random() < 0.5 else (b, a)
        return rng.choice(APART).format(x=x, y=y), a, op, b
    a, b = operands(rng, held_out, op)
    words = rng.random() < 0.12
    core = PHRASINGS[op].pick(rng, held_out)
    text = core.format(a=written(rng, a, words), b=written(rng, b, words))
    # In prose, a dash between numbers is a minus sign only with spaces around it.
    if words:
        text = text.replace(" + ", " plus ").replace("+", " plus ").replace(" - ", " minus ")
    return text, a, op, b


def little_story(rng, held_out):
    op = one_of(rng, "+", "-")
    a, b = operands(rng, held_out, op, ordered=True)
    core = STORIES[op].pick(rng, held_out)
    who, other = rng.sample(PEOPLE, 2)
    return core.format(a=a, b=b, who=who, other=other, what=rng.choice(THINGS)), a, op, b


PHRASINGS = {"+": Table(PLUS), "-": Table(MINUS)}
STORIES = {"+": Table(MORE), "-": Table(FEWER)}


def follow_up(rng, held_out, total):
    """A second question: about the result of the first, or a new one."""
    if 0 <= total <= 99 and rng.random() < 0.6:
        op = one_of(rng, "+", "-")
        for _ in range(100):
            b = number(rng)
            if held(f"{total}{op}{b}") == bool(held_out) and (op == "+" or b <= total):
                return rng.choice(AND_MORE if op == "+" else AND_LESS).format(b=b), total, op, b
    op = one_of(rng, "+", "-")
    a, b = operands(rng, held_out, op)
    return rng.choice(AND_ALSO).format(a=a, op=op, b=b), a, op, b


def sample(rng, held_out):
    text, a, op, b = (plain if rng.random() < 0.8 else little_story)(rng, held_out)
    only = rng.random() < 0.10
    reply = str(result(a, op, b)) if only else answer(a, op, b)
    message = system(rng, held_out)
    if only:
        order = rng.choice(NUMBER_ONLY)
        if rng.random() < 0.5:
            text = f"{text} {order}"
        else:
            message = order
    turns = [("system", message)] if message else []
    turns += [("user", casual(rng, wrap(rng, text))), ("model", reply)]
    last = result(a, op, b)
    while not only and rng.random() < 0.25 and len(turns) < 6:
        text, a, op, b = follow_up(rng, held_out, last)
        last = result(a, op, b)
        turns += [("user", casual(rng, text)), ("model", answer(a, op, b))]
    return Case(turns, {"kind": "exact", "answer": str(last)})
