"""How people ask for JSON, for the topic "objects": before and after a description, with keys, for a phrase, for a
list, and for changes."""

import itertools

from . import case

REQUESTS = case.Table([
    pattern.format(this=this, json=json_word)
    for pattern, this, json_word in itertools.product(
        ["Convert {this} to {json}", "Turn {this} into {json}", "Write {this} as {json}", "Put {this} into {json}",
         "Format {this} as {json}", "Give me {this} as {json}", "Show {this} as {json}", "Describe {this} as {json}",
         "Describe {this} in {json}", "Make {json} from {this}", "Make {json} of {this}", "Create {json} from {this}",
         "Build {json} from {this}", "Generate {json} for {this}", "Give me {json} for {this}",
         "I need {json} for {this}",
         "I need {this} as {json}", "I want {this} as {json}", "Return {json} for {this}", "Return {this} as {json}",
         "Output {this} as {json}", "Express {this} in {json}", "Represent {this} as {json}",
         "Transform {this} into {json}",
         "Rewrite {this} as {json}", "Translate {this} into {json}", "Serialize {this} to {json}",
         "Encode {this} as {json}",
         "Parse {this} into {json}", "Extract {json} from {this}", "Print {this} as {json}", "Write {json} for {this}",
         "Change {this} to {json}", "Store {this} as {json}", "What is {this} as {json}",
         "How does {this} look as {json}",
         "{json} for {this}", "{json} of {this}", "{json} from {this}", "{this} as {json}", "{this} in {json}",
         "{this} to {json}"],
        ["this", "that", "the following", "it", "this text", "the text", "these facts", "the data", "this data",
         "this information", "this description", "this KIND", "the KIND", "the KIND here", "my KIND", "what I say"],
        ["JSON", "json", "a JSON object", "valid JSON", "one JSON object", "plain JSON", "an object in JSON",
         "a json object"])])
SHORT = case.Table([
    polite + text for polite, text in itertools.product(
        ["", "Please ", "please "],
        ["JSON", "JSON please", "as json", "as JSON", "JSON only", "answer in JSON", "answer with JSON",
         "reply in JSON", "respond with JSON",
         "respond with a JSON object", "only JSON", "in JSON", "give me JSON", "make it JSON", "a JSON object",
         "to json",
         "use JSON", "json object", "write JSON", "print JSON", "just the JSON", "return JSON", "output JSON",
         "send JSON", "JSON it",
         "make a JSON object", "I want JSON", "I need JSON", "JSON format", "give me a json", "describe it as JSON",
         "the JSON for it"])])
POLITE = ["Please {}", "please {}", "Can you {}?", "Could you {}?", "Could you please {}?", "Would you {}?", "Now {}",
          "Hey, {}",
          "Hi! {}", "Hello, {}", "{}, please", "{} please", "{} for me", "{}, thanks", "{}, only the JSON",
          "{}, nothing else",
          "{} without any explanation", "{} on one line", "{}!", "{}, and only that", "I would like you to {}",
          "Kindly {}", "Just {}"]
WITH_KEYS = case.Table(["with the keys {}", "with keys {}", "with the fields {}", "with {}", "with {} as keys",
                        "using the keys {}",
                        "keys: {}", "with the attributes {}", "with the properties {}", "containing {}", "having {}",
                        "that has the keys {}", "(keys: {})", "with exactly the keys {}", "with only {}",
                        "with just the keys {}",
                        "and use the keys {}", "with the key names {}", "with fields {}", "with these keys: {}",
                        "- keys {}",
                        "holding {}", "whose keys are {}", "with members {}", "using {} as keys", "; keys {}",
                        "fields {}"])
THEN_KEYS = case.Table(["Use the keys {}.", "The keys are {}.", "Keys: {}", "The keys should be {}.",
                        "I need the keys {}.",
                        "Keys should be {}.", "Use {} as keys.", "It must have the keys {}.", "keys {}", "Fields: {}",
                        "The fields are {}.", "With keys {}.", "I want {} in it.", "Only {}.", "It should contain {}.",
                        "Take the keys {}.", "Give me {}.", "The keys: {}", "Please use the keys {}."])
SYSTEMS = case.Table(["Answer in JSON only.", "Answer in JSON.", "You answer with JSON only.", "Always answer in JSON.",
                      "Reply with JSON, nothing else.",
                      "You convert text to JSON.", "You turn descriptions into JSON objects.", "Output only JSON.",
                      "JSON only.",
                      "Respond with a single JSON object.", "You are a JSON converter.",
                      "Your answers are JSON objects and nothing else.",
                      "You extract data from text and return it as JSON.", "Return JSON without explanation.",
                      "You are a helpful assistant that answers in JSON.",
                      "Only ever answer with valid JSON.", "Write JSON on one line.",
                      "You are an API. Answer in JSON."])
SYSTEMS_KEYS = case.Table(["Answer in JSON with the keys {}.", "Return a JSON object with the keys {}.",
                           "Extract {} as JSON.",
                           "Answer with a JSON object that has the keys {}.", "Output JSON with {}.",
                           "You convert text to JSON. Keys: {}",
                           "Reply only with JSON. The keys are {}.",
                           "Turn the text of the user into JSON with the fields {}.",
                           "JSON only, keys {}.", "You extract {} from the text. Answer in JSON.",
                           "Give {} as a JSON object."])
SCHEMAS = ["Answer with JSON that follows this schema: {}", "Use this JSON schema: {}",
           "The answer must match this JSON schema: {}",
           "Schema: {}", "JSON schema:\n{}", "Respond with JSON for the schema {}"]
FORMS = ["Answer in the form {}", "Use the format {}", "Format: {}", "Fill this in: {}", "Like this: {}",
         "As JSON like {}"]

WITH_PAIRS = case.Table(["JSON with {}", "a JSON object with {}", "Give me a JSON object with {}", "JSON object: {}",
                         "json {}", "json with {}",
                         "Make a JSON object with {}", "Create JSON with {}", "Write a JSON object with {}",
                         "Build a JSON object with {}",
                         "I need a JSON object with {}", "Please give me JSON with {}", "Write JSON for a KIND with {}",
                         "A KIND with {} as JSON",
                         "Give me a JSON object for a KIND with {}", "Describe a KIND with {} as JSON",
                         "A JSON object with {}, please",
                         "Can you make JSON with {}?", "Could you write a JSON object with {}?",
                         "KIND with {}, as JSON", "JSON for KIND with {}",
                         "{} in JSON", "{} as JSON", "{} as a JSON object", "{}. JSON please.", "{} -> JSON",
                         "to JSON: {}",
                         "I would like a JSON object with {}", "What does a JSON object with {} look like?",
                         "Show me a JSON object with {}",
                         "Return a JSON object with {}", "Output {} as JSON", "Put {} into JSON",
                         "Generate a JSON object that has {}"])
FOR_PHRASE = case.Table(["JSON for {}", "{} as JSON", "Describe {} as JSON.", "Describe {} in JSON",
                         "Give me a JSON object for {}", "a JSON object for {}",
                         "json for {}", "Write {} as JSON", "Please describe {} as JSON", "Show me {} as JSON",
                         "I need {} as JSON", "JSON of {}",
                         "Make JSON for {}", "Could you write {} as JSON?", "Can you give me JSON for {}?",
                         "Put {} into JSON", "{} in JSON", "{} to JSON please",
                         "Turn {} into JSON", "Convert {} to JSON", "create a json object for {}",
                         "What is {} as JSON?", "Represent {} in JSON",
                         "JSON describing {}", "a JSON object describing {}", "Write a JSON object describing {}",
                         "Make a JSON object representing {}",
                         "Give me JSON that describes {}", "a json for {}", "I want {} as a JSON object",
                         "Generate JSON for {}", "Return a JSON object describing {}"])
FOR_KEYED = case.Table(["JSON with keys {k} for {t}", "JSON with the keys {k} for {t}", "Describe {t} as JSON with {k}",
                        "A JSON object with {k} for {t}",
                        "Give me JSON with {k} for {t}", "json keys {k} for {t}", "{t} as JSON with the keys {k}",
                        "Write {t} as JSON, keys {k}",
                        "Please give me {k} of {t} as JSON", "Show {k} of {t} in JSON", "{t}: {k} as JSON",
                        "JSON object ({k}) for {t}",
                        "I need {k} as JSON for {t}", "Could you describe {t} as JSON with the keys {k}?",
                        "Extract {k} as JSON from: {t}"])
ARRAYS = case.Table([f"{a} {b}" for a, b in itertools.product(
    ["a JSON array of", "A JSON array of", "a JSON list of", "JSON list of", "JSON array:", "JSON array of",
     "Make a JSON array of", "Give me a JSON list with", "as a JSON array:",
     "Write a JSON list of", "json list", "Please make a JSON array from", "Convert to a JSON array:",
     "Turn into a JSON list:",
     "I need a JSON array of", "Can you give me a JSON array of", "List as JSON:", "Put in a JSON array",
     "to a json array:", "JSON array for"],
    ["these: {}", "the words {}", "{}", "the following: {}", "these items: {}", "these:\n{}", "the values {}",
     "this: {}"])]
    + ["{} as a JSON array", "{} as a JSON list", "{} as json list please", "{} - as a JSON array",
       "{}. As a JSON list.", "{} in a JSON array",
       "{} to JSON array", "{}. Make that a JSON list please.", "{} - JSON array please",
       "{}. Give me a JSON array of that."])
WRAPPED = case.Table(["JSON with the key {k} and the list {v}",
                      "A JSON object with the key {k}, its value is the list {v}", "JSON object with {k}: {v}",
                      "{v} as a JSON list under the key {k}", "Put {v} into a JSON list with the key {k}",
                      "A JSON object where {k} is the list {v}",
                      "{v}. JSON with the key {k}.", "json, key {k}, values {v}", "Make a JSON object: {k} = [{v}]"])
ROWS = case.Table(["JSON list of objects with {k}", "A JSON array of objects with the keys {k}", "a JSON list with {k}",
                   "Give me a JSON array with {k} for each",
                   "As a JSON list with {k}", "json array, keys {k}", "Make a JSON list of these, with {k}",
                   "Convert to a JSON array with the keys {k}",
                   "Please write a JSON list of objects ({k})", "List them as JSON with {k}",
                   "A JSON array please, each with {k}", "JSON: a list of objects with {k}"])
EXAMPLE = case.Table([f"{a} {b}" for a, b in itertools.product(
    ["Give me", "Show me", "Write", "I need", "Make", "Can you show me", "Please give me", "Create", "Could you write",
     "I want"],
    ["an example of a KIND as JSON", "a JSON object for a KIND", "an example JSON object for a KIND", "a KIND as JSON",
     "a KIND in JSON",
     "some JSON for a KIND", "an example KIND in JSON", "JSON for a KIND", "a JSON example of a KIND",
     "a sample KIND as JSON"])]
    + ["describe a KIND as JSON", "KIND as json", "json KIND", "example JSON KIND", "Describe any KIND in JSON.",
       "A KIND as JSON, please",
       "What does a KIND look like as JSON?", "json for KIND"])
CHANGE = case.Table(["change the {k} to {v}", "Change the {k} to {v}.", "set {k} to {v}", "Set the {k} to {v}.",
                     "make the {k} {v}", "The {k} should be {v}.",
                     "now with the {k} {v}", "And now with {k} {v}", "with {k} {v} please", "The {k} is {v} now.",
                     "no, the {k} is {v}", "Sorry, the {k} is {v}.",
                     "Please update {k} to {v}", "update the {k}: {v}", "replace the {k} with {v}", "{k} = {v}",
                     "Could you change the {k} to {v}?",
                     "Actually the {k} is {v}.", "the {k} is wrong, it is {v}", "let {k} be {v}", "Same with {k} {v}",
                     "now {k}: {v}", "now as JSON with {k} {v}"])
ADD = case.Table(["add a key {k} with the value {v}", "Add the key {k} with the value {v}.", "add {k} {v}",
                  "Add {k}: {v}", "also add the {k} {v}",
                  "Please add a field {k} with {v}", "and {k} {v}", "add {v} as {k}", "with {k} = {v} as well",
                  "Add the {k}, it is {v}.",
                  "insert {k} with {v}", "Could you add {k} with the value {v}?", "It also has the {k} {v}.",
                  "put {k} {v} in too", "one more key: {k} with {v}",
                  "add another key, {k}, value {v}", "Now add {k}: {v}", "extend it with {k} {v}"])
REMOVE = case.Table(["remove the {k}", "Remove {k}.", "delete the {k}", "without the {k}", "Without {k}, please.",
                     "leave out the {k}", "drop {k}",
                     "Please delete the key {k}", "take the {k} out", "the {k} is not needed", "I do not need the {k}.",
                     "no {k} please",
                     "remove the key {k}", "Could you remove {k}?", "the same without {k}", "get rid of the {k}",
                     "skip the {k}", "omit {k}"])
RENAME = case.Table(["rename {k} to {n}", "Rename the key {k} to {n}.", "call the {k} {n} instead",
                     "use {n} instead of {k} as the key", "the key {k} should be called {n}",
                     "change the key {k} to {n}", "Please rename {k} to {n}", "name the key {n}, not {k}",
                     "replace the key {k} by {n}", "{k} should be named {n}",
                     "Could you rename {k} into {n}?", "let the key {k} be {n}"])
ONLY = case.Table(["only the {k} please as JSON", "only {k}", "Only the {k}, as JSON.", "just the {k}",
                   "Just {k} please.", "keep only {k}", "Now only with {k}",
                   "reduce it to {k}", "give me only {k} as JSON", "I only need {k}", "the same with only {k}",
                   "JSON with just {k}", "remove everything but {k}"])
KEYS_ONLY = case.Table(["only the keys as a JSON list", "List the keys as JSON.", "give me the keys as a JSON array",
                        "the keys as a JSON list please", "Which keys are there? As a JSON list.",
                        "just the keys, JSON array", "JSON array of the keys", "a list of the keys in JSON",
                        "the keys only, as JSON array"])
AS_LIST = case.Table(["put it in a list", "put that into a JSON array", "Make it a list with one object.",
                      "as a JSON array please", "wrap it in an array",
                      "inside a list please", "a list with that object", "wrap that in a list", "now in an array"])
ASK = case.Table(["what is the {k}?", "What is the {k} in it?", "and the {k}?", "Which {k} does it have?",
                  "tell me the {k}", "What was the {k} again?",
                  "read me the {k}", "what value has {k}?", "the value of {k}?", "which value does {k} have",
                  "What does {k} hold?", "And what is {k}?"])
