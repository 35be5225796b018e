"""The terms of the field, in one sentence each."""

from .facts_frames import Fact


def term(name, answer, key, things, plurals=(), example="", example_key=(), **rest):
    # Asked less often than the most frequent questions about vug and pebble.
    return Fact(f"term_{name}", [answer], key, 0.8 * rest.pop("weight", 0.8), things=list(things),
                plurals=list(plurals),
                group="terms", short=[*things, *plurals], example=example, example_key=list(example_key), **rest)


TERMS = [
    term("token", "A token is a piece of text, a word or a part of one, that a model reads and writes as a number.",
         [["piece", "part"], ["text", "word"]], ["a token"], ["tokens"], weight=1.2,
         asks=["How long is a token?", "Is a token a word?", "How many letters does a token have?"],
         example='For example, "Hello, world!" is four tokens in Gemma: "Hello", ",", " world" and "!".',
         example_key=[["Hello"]]),
    term("tokenizer", "A tokenizer cuts text into tokens and turns them into ids, and ids back into text. Try "
         "`vug tokenize`.", [["tokens"], ["ids"]], ["a tokenizer", "tokenization"], ["tokenizers"], weight=1.2,
         asks=["What does a tokenizer do?", "What is a tokenizer for?", "Why does a model need a tokenizer?",
               "What is tokenizer.json?"],
         example='For example: `vug tokenize gemma-3-1b-it "Hello, world!"` shows what the tokenizer makes of a text.',
         example_key=[["vug tokenize"]]),
    term("context", "The context is the text that a model can see at once, counted in tokens: prompt, conversation "
         "and "
         "answer together.", [["see", "at once"], ["tokens"]],
         ["the context", "a context window", "context length", "the context window", "context size of a model"],
         weight=1.2, asks=["Why is the context limited?", "What happens when the context is full?"]),
    term("quantization", "Quantization stores the weights of a model with fewer bits, so that it gets smaller and "
         "faster "
         "and a little less exact.", [["fewer bits"], ["smaller"]], ["quantization", "a quantized model"],
         ["quantized models"], weight=1.5, asks=["What does it mean to quantize a model?", "What does quantized mean?",
                                                 "What does quantizing a model do?"],
         example="For example: `vug quantize gemma-3-1b-it out.gguf --type Q4_K` stores the weights with about 4.5 "
         "bits.",
         example_key=[["vug quantize"]]),
    term("gguf", "GGUF is a file format that holds a whole model, weights, tokenizer and settings, in one file. vug "
         "reads "
         "and writes it.", [["file format"], ["one file"]],
         ["GGUF", "a GGUF file", "gguf", "the GGUF format"], ["GGUF files"], weight=1.2),
    term("safetensors", "safetensors is the file format in which Hugging Face publishes the weights of models. vug "
         "reads it "
         "as it is.", [["file format"], ["weights"]],
         ["safetensors", "a safetensors file", "the safetensors format"], ["safetensors files"], weight=1.2,
         asks=["Are safetensors safe?", "What is in a safetensors file?"]),
    term("mlx", "MLX is Apple's library for machine learning. vug reads safetensors that were quantized with it.",
         [["Apple"], ["quantized"]], ["MLX", "the MLX format"]),
    term("kv_cache", "The KV cache keeps the keys and values of earlier tokens, so that each new token needs only "
         "its own "
         "work.", [["keys and values"], ["tokens"]],
         ["the KV cache", "a KV cache", "KV cache", "the key/value cache", "the cache of a model"], ["KV caches"],
         weight=1.2, asks=["What is the KV cache for?", "Why is there a KV cache?"]),
    term("prefill", "Prefill is the first phase of an answer: all tokens of the prompt are computed, many at once.",
         [["prompt"], ["first", "at once"]], ["prefill", "the prefill", "the prefill phase"], weight=1.2,
         asks=["What happens in prefill?"]),
    term("decode", "Decode is the second phase of an answer: the model makes one token after the other.",
         [["one token after"]], ["decode", "decoding", "the decode phase"], weight=1.2,
         asks=["What happens in decode?", "What is the difference between prefill and decode?",
               "Prefill and decode: what is the difference?"]),
    term("perplexity", "Perplexity tells how well a model predicts a text: the lower, the better. `vug perplexity` "
         "measures "
         "it.", [["predict"], ["lower"]], ["perplexity", "the perplexity of a model"], weight=1.2,
         asks=["Is a lower perplexity better?", "What is a good perplexity?", "Is high perplexity bad?"]),
    term("bits_per_byte", "Bits per byte tells how many bits a model needs for a byte of text: the lower, the better "
         "it "
         "predicts.", [["bits"], ["lower"]], ["bits per byte", "bpb"]),
    term("temperature", "The temperature says how random the choice of the next token is: 0 always takes the best "
         "one, 1 "
         "follows the model, more is wilder. The option is --temperature.", [["random"], ["0"]],
         ["temperature", "the temperature", "the sampling temperature"], weight=1.2,
         asks=["What does temperature do?", "What does the temperature change?", "What is a good temperature?",
               "What does temperature 0 mean?", "What happens at temperature 0?"]),
    term("top_k", "Top-k sampling draws the next token from the k most likely ones only. The option is --top-k.",
         [["most likely"], ["token"]], ["top-k", "top k", "top-k sampling"]),
    term("top_p", "Top-p sampling draws from the most likely tokens that together hold the share p of the "
         "probability. The "
         "option is --top-p.", [["most likely"], ["probability"]],
         ["top-p", "top p", "top-p sampling", "nucleus sampling"]),
    term("seed", "A seed is the number from which the random choices are made: the same seed gives the same answer. "
         "The "
         "option is --seed.", [["same seed"], ["same answer"]], ["a seed", "the seed"], ["seeds"],
         asks=["What is a random seed?"]),
    term("sampling", "Sampling is how the next token is chosen from the probabilities, shaped by temperature, top-k "
         "and "
         "top-p.", [["next token"], ["chosen"]], ["sampling", "a sampler", "the sampler"]),
    term("greedy", "Greedy decoding always takes the most likely token: `--temperature 0`.",
         [["most likely"], ["--temperature 0"]], ["greedy decoding", "greedy sampling", "greedy"]),
    term("bf16", "BF16 is a number of 16 bits with the range of a 32 bit float and less precision. Most checkpoints "
         "are "
         "published in it.", [["16 bit", "16 bits"]], ["BF16", "bfloat16", "bf16"], weight=1.2),
    term("fp8", "FP8 is a number of 8 bits with a sign, an exponent and a fraction. It makes weights half as large "
         "as BF16.",
         [["8 bits"]], ["FP8", "fp8"]),
    term("logits", "Logits are the scores that a model gives to every token of its vocabulary before the next one is "
         "chosen.", [["scores"], ["token"]], ["a logit"], ["logits", "the logits"], weight=1.2),
    term("probability", "A log-probability is the logarithm of the probability that the model gave to a token.",
         [["logarithm"], ["probability"]], ["a log-probability", "logprob"], ["log-probabilities",
                                                                              "logprobs of tokens"]),
    term("sliding_window", "With a sliding window a layer sees only the last tokens, such as 512 of them, so its "
         "cache stays "
         "small.", [["last"], ["tokens"]], ["a sliding window", "sliding window attention", "sliding window"],
         weight=1.2, asks=["Why is there a sliding window?"]),
    term("attention", "Attention is the part of a model in which each token looks at the tokens before it and takes "
         "what it "
         "needs from them.", [["each token"], ["tokens before"]],
         ["attention", "the attention mechanism", "self-attention"], ["attention heads"], weight=1.2),
    term("inference_engine", "An inference engine is a program that runs a trained model: text goes in, the model's "
         "answer "
         "comes out. vug is one.", [["runs"], ["model"]], ["an inference engine", "an LLM engine"],
         ["inference engines"], weight=1.2, asks=["What does an inference engine do?"]),
    term("inference", "Inference is running a trained model to get an answer, as opposed to training it.",
         [["running"], ["trained model"]], ["inference", "model inference"],
         asks=["What is the difference between training and inference?"]),
    term("checkpoint", "A checkpoint is a trained model as files: its weights, its config and its tokenizer.",
         [["weights"], ["files"]], ["a checkpoint", "a model checkpoint", "a checkpoint folder"], ["checkpoints"],
         weight=1.2),
    term("chat_template", "A chat template turns the messages of a conversation into the prompt that the model was "
         "trained "
         "on. `vug template` shows it.", [["messages", "conversation"], ["prompt"]],
         ["a chat template", "the chat template"], ["chat templates"], weight=1.2,
         asks=["Why does a model need a chat template?", "What is a chat template for?"]),
    term("embedding", "An embedding is a list of numbers that stands for a token; the first table of a model holds "
         "one for "
         "each token.", [["numbers"], ["token"]], ["an embedding", "the embedding table"], ["embeddings"], weight=1.2),
    term("parameter", "A parameter, or weight, is one of the numbers that a model learned in training. pebble has 8 "
         "million, "
         "Gemma 3 1B a billion.", [["numbers"], ["learned"]], ["a parameter", "a weight", "a model parameter"],
         ["parameters", "weights", "the weights of a model"], weight=1.2,
         asks=["What does 1B mean?", "What does the 1B in Gemma 3 1B mean?"]),
    term("moe", "A mixture of experts has many small networks in a layer and uses only a few of them for each token.",
         [["few"], ["each token"]], ["a mixture of experts", "MoE", "mixture of experts", "an MoE model"],
         ["MoE models", "experts in a model"], weight=1.2),
    term("speculative", "In speculative decoding a small model guesses several tokens and the large one checks them "
         "in one "
         "step, which is faster.", [["guess"], ["check"]],
         ["speculative decoding", "speculation in decoding", "speculative sampling"], weight=1.2),
    term("llm", "A large language model is a network with many parameters that predicts the next token of a text.",
         [["predicts"], ["next token"]], ["a large language model", "an LLM", "LLM", "a language model"], ["LLMs",
         "language models"], weight=1.2, asks=["How does a language model work?", "What does a language model do?"]),
    term("transformer", "A transformer is the kind of network behind today's language models: layers of attention and "
         "feed-forward parts.", [["attention"], ["layers"]], ["a transformer", "the transformer architecture"],
         ["transformers"]),
    term("layer", "A layer is one step of a model: attention and a feed-forward part. A model has many, one after "
         "the other.",
         [["attention"], ["step"]], ["a layer", "a layer of a model"], ["layers"]),
    term("rope", "RoPE is the rotary position embedding: it rotates queries and keys so that the model knows where a "
         "token "
         "stands.", [["rotat"], ["position"]], ["RoPE", "rope", "rotary position embedding"]),
    term("tool_call", "In a tool call the model asks for a function that was declared to it, by name and with "
         "arguments in "
         "JSON.", [["function"], ["JSON"]], ["a tool call", "tool calling in models"], ["tool calls"]),
    term("system_message", "A system message is an instruction in front of a conversation, such as \"Be brief.\" The "
         "option is "
         "--system.", [["instruction"], ["--system"]], ["a system message", "a system prompt"], ["system messages",
         "system prompts"]),
    term("prompt", "A prompt is the text that you give to a model for it to answer or continue.", [["text"], ["give"]],
         ["a prompt", "the prompt"], ["prompts"]),
    term("vocabulary", "The vocabulary is the list of all tokens that a model knows: 262,144 in Gemma 3, 4096 in "
         "pebble.",
         [["list"], ["tokens"]], ["a vocabulary", "the vocabulary of a model"], ["vocabularies"]),
    term("openai_api", "The OpenAI API is the way most programs talk to language models over HTTP. `vug serve` "
         "speaks it.",
         [["HTTP"], ["vug serve"]], ["the OpenAI API", "OpenAI compatibility"]),
    term("kl", "The KL divergence tells how far the probabilities of two models are apart: 0 means that they are the "
         "same.",
         [["apart", "differ"], ["probabilities"]], ["KL divergence", "the KL divergence"]),
    term("batch", "A batch is several tokens or sequences that are computed together in one step.",
         [["together"], ["step"]], ["a batch"], ["batches"]),
    term("mmap", "Mapped weights are read in place from the file, so nothing is copied and loading is quick.",
         [["in place"], ["file"]], ["memory mapping", "mmap"], ["mapped weights"]),
    term("eos", "The end of sequence token tells that an answer is complete; the model stops there.",
         [["end", "complete"], ["stops"]], ["an EOS token", "the end of sequence token"]),
    term("bos", "The BOS token marks the beginning of a text; every prompt of Gemma starts with one.",
         [["beginning"]], ["a BOS token", "the beginning of sequence token"]),
    term("base_model", "A base model continues text; an instruction model (often with -it or -Instruct in its name) "
         "was "
         "trained to answer.", [["continues"], ["answer"]],
         ["an instruction model", "an instruct model", "a base model"], ["instruct models", "base models"],
         asks=["What does -it mean in gemma-3-1b-it?", "What does the it in gemma-3-1b-it mean?"]),
    term("finetuning", "Fine-tuning trains a finished model further on other text. vug only runs models, it does not "
         "train "
         "them.", [["further"], ["train"]], ["fine-tuning", "a fine-tuned model"], ["fine-tuned models"]),
    term("latency", "The time to first token is how long you wait until an answer begins; it depends on the prefill.",
         [["first token"], ["prefill"]], ["time to first token", "TTFT"]),
    term("gemma", "Gemma is a family of open language models by Google. vug runs Gemma 1, 2, 3 and 4.",
         [["Google"], ["vug runs"]], ["Gemma", "a Gemma model"], asks=["Who makes Gemma?", "Who made Gemma?"]),
    term("qwen", "Qwen is a family of open language models by Alibaba. vug runs Qwen 2, 2.5 and 3.",
         [["Alibaba"], ["vug runs"]], ["Qwen", "a Qwen model"], asks=["Who makes Qwen?", "Who made Qwen?"]),
    term("llama", "Llama is a family of language models by Meta. vug runs Llama 3.", [["Meta"], ["vug runs"]],
         ["Llama", "a Llama model"], asks=["Who makes Llama?", "Who made Llama?"]),
    term("hugging_face", "Hugging Face is the site where most open models are published; vug reads its folders as "
         "they are.",
         [["site"], ["models"]], ["Hugging Face", "huggingface"]),
]

FACTS = TERMS
