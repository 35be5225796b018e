"""lm-evaluation-harness: `local-completions`, which scores prompts by echo, log-probabilities and one
token, and `local-chat-completions`. It counts tokens with the tokenizer of pebble."""

import json
import os
import tempfile
import urllib.request

from cases import KEY, MODEL, URL, Skip, case, run, same

os.environ.update(OPENAI_API_KEY=KEY, HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", TOKENIZERS_PARALLELISM="false")
SCRATCH = tempfile.TemporaryDirectory()
os.environ["HF_HOME"] = SCRATCH.name

import lm_eval  # noqa: E402
from lm_eval.api.instance import Instance  # noqa: E402
from lm_eval.models.openai_completions import LocalChatCompletion, LocalCompletionsAPI  # noqa: E402
from lm_eval.tasks import TaskManager  # noqa: E402

TOKENIZER = os.path.join(os.path.dirname(__file__), "..", "..", "models", "pebble")
TURN = "<start_of_turn>user\n{}<end_of_turn>\n<start_of_turn>model\n"
PAIRS = [("What is 12 plus", " 30?"), ("Once upon a", " time"), ("Once upon a", " banana"),
         ("vug is a native", " inference engine in C"), (TURN.format("What is 12 plus 30?"), "12 + 30 = 42")]
TASK = """task: sums
dataset_path: json
dataset_kwargs: {{data_files: {{test: {}}}}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{{{question}}}}"
doc_to_choice: "{{{{choices}}}}"
doc_to_target: "{{{{right}}}}"
metric_list: [{{metric: acc, aggregation: mean, higher_is_better: true}}]
"""


def instances(kind, *arguments):
    return [Instance(request_type=kind, doc={}, arguments=a, idx=i) for i, a in enumerate(arguments)]


def api(**fields):
    if MODEL != "pebble":
        raise Skip("the tokenizer at hand is that of pebble")
    # A Gemma wants its <bos>, which the server does not add to tokens.
    return LocalCompletionsAPI(model=MODEL, base_url=URL + "/completions", max_retries=1, tokenizer=TOKENIZER,
                               tokenizer_backend="huggingface", **{"add_bos_token": True, **fields})


def scored(text):
    """The log-probability of each token of a text."""
    request = urllib.request.Request(
        URL + "/completions", method="POST",
        headers={"Content-Type": "application/json", "Authorization": "Bearer " + KEY},
        data=json.dumps({"model": MODEL, "prompt": text, "echo": True, "logprobs": 0, "max_tokens": 0}).encode())
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)["choices"][0]["logprobs"]["token_logprobs"]


def expected(context, rest):
    both, front = scored(context + rest), scored(context)
    return sum(both[len(front):])


def check_scores(**fields):
    for (got, _), pair in zip(api(**fields).loglikelihood(instances("loglikelihood", *PAIRS)), PAIRS):
        assert abs(got - expected(*pair)) < 1e-3, (pair, got, expected(*pair))


@case
def scores_of_continuations():
    check_scores()


@case
def scores_in_batches_and_at_once():
    check_scores(batch_size=3)
    check_scores(num_concurrent=4)


@case
def scores_of_text():
    check_scores(tokenized_requests=False)


@case
def what_is_greedy():
    greedy = [g for _, g in api().loglikelihood(instances("loglikelihood", *PAIRS))]
    same(greedy, [False, True, False, False, True])


@case
def a_rolling_score_is_that_of_all_tokens():
    text = "Once upon a time there was a fox named Mira. She lived in a forest."
    # It puts a <bos> in front by itself.
    got = api(add_bos_token=False).loglikelihood_rolling(instances("loglikelihood_rolling", (text,)))[0]
    same(round(got, 3), round(sum(scored(text)[1:]), 3))


@case
def a_task_of_right_and_wrong_sums():
    rows = os.path.join(SCRATCH.name, "sums.jsonl")
    with open(rows, "w", encoding="utf-8") as f:
        for i in range(20):
            f.write(json.dumps({"question": TURN.format(f"What is {i} plus 5?"), "right": 2,
                                "choices": [f"{i} + 5 = {i + d}" for d in (3, 4, 5, 6)]}) + "\n")
    with open(os.path.join(SCRATCH.name, "sums.yaml"), "w", encoding="utf-8") as f:
        f.write(TASK.format(rows))
    got = lm_eval.simple_evaluate(model=api(batch_size=4), tasks=["sums"], bootstrap_iters=0,
                                  task_manager=TaskManager(include_path=SCRATCH.name, include_defaults=False))
    assert got["results"]["sums"]["acc,none"] >= 0.85, got["results"]


@case
def generation():
    fields = {"until": ["named"], "max_gen_toks": 20}
    text = api().generate_until(instances("generate_until", ("Once upon a", fields)))[0]
    assert text.startswith(" time") and "named" not in text, text


@case
def generation_in_a_chat():
    chat = LocalChatCompletion(model=MODEL, base_url=URL + "/chat/completions", max_retries=1)
    asked = chat.apply_chat_template([{"role": "user", "content": "What is 12 plus 30?"}])
    text = chat.generate_until(instances("generate_until", (asked, {"until": ["never"], "max_gen_toks": 20})))[0]
    assert "42" in text, text


run()
