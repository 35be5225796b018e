"""The list of the written tools; see tools_data."""

from . import invent as v
from . import tools_data as d
from .tools_data import enum, flag, number, text, tool, whole, words

CITY = text("city", v.city, "Name of the city")

TOOLS = [
    tool("get_weather", "weather", "Current weather in a city",
         [CITY, enum("unit?", ("celsius", "fahrenheit"), "Unit of the temperature")],
         """What is the weather in {city}? / How is the weather in {city}? / weather {city} /
         Weather in {city} please / Is it raining in {city}? / Tell me the weather in {city}. /
         What is the weather like in {city} today? / How warm is it in {city}? / Do I need an umbrella in {city}? /
         Give me the weather of {city} in {unit}. / How warm is it in {city} in {unit}? / temperature in {city} /
         Is it cold in {city} right now? / How's the weather over in {city}? /
         I am going to {city}, what is the weather there? / Check the weather for {city}.""",
         """What is the weather? / How is the weather today? / Is it raining? / Tell me the weather. /
         How warm is it outside?""",
         {"temperature": v.integer(-15, 40), "condition": d.CONDITIONS},
         "It is {temperature} degrees and {condition} in {city}."),
    tool("get_forecast", "weather", "Weather forecast for the next days",
         [CITY, whole("days", v.integer(1, 10), "Number of days")],
         """Weather forecast for {city} for the next {days} days /
         How will the weather be in {city} over {days} days? / forecast {city} {days} days /
         Give me a {days} day forecast for {city}. / What will the weather in {city} be in the next {days} days? /
         Please show the forecast of {days} days for {city}. /
         I stay {days} days in {city}. How will the weather be? / {days} days of forecast for {city} /
         Can I see the next {days} days of weather in {city}?""",
         """Give me the forecast for {city}. / How will the weather be in the next {days} days? /
         What does the forecast say for {city}?""",
         {"summary": d.CONDITIONS, "high": v.integer(0, 40)}, "In {city} it will be {summary}, up to {high} degrees."),
    tool("get_time", "time", "Current time in a city", [CITY],
         """What time is it in {city}? / time in {city} / What is the time in {city} now? /
         Tell me the time in {city}. / How late is it in {city}? / Current time in {city}? /
         Do you know what time it is in {city}? / What's the time over in {city}? /
         What does the clock say in {city}?""",
         "", {"time": v.time}, "It is {time} in {city}."),
    tool("calculate", "calc", "Evaluates an arithmetic expression",
         [text("expression", d.expression, "The expression, such as 2 + 3")],
         """calculate {expression} / What is {expression}? / How much is {expression}? / compute {expression} /
         Please work out {expression}. / {expression} = ? / Evaluate {expression} for me. /
         What does {expression} give? / Can you calculate {expression}? / result of {expression}""",
         "Calculate something for me. / Can you do a calculation?", {"result": v.integer(2, 5000)},
         "{expression} is {result}."),
    tool("search_web", "search", "Searches the web", [text("query", d.QUERIES, "What to search for")],
         """Search the web for {query} / google {query} / Look up {query} on the internet. /
         Find web pages about {query}. / search {query} / web search: {query} /
         What does the web say about {query}? / Can you search for {query}? / I need pages about {query}.""",
         "Search the web for me.",
         {"results": v.several(v.title, 2, 3)}, "I found {results}."),
    tool("send_email", "comm", "Sends an e-mail",
         [text("to", v.email, "Address of the receiver"), text("subject", d.SUBJECTS, "Subject line"),
          text("body", d.NOTES, "Text of the mail")],
         """Send a mail to {to} with the subject {subject} and the text: {body} /
         Write an e-mail to {to}, subject {subject}: {body} / mail {to}, subject {subject}, text {body} /
         Email {to} about {subject} and write: {body} /
         Please send an email to {to}. The subject is {subject}. The text is {body} /
         e-mail to {to}; subject: {subject}; body: {body} /
         Could you mail {to} with subject {subject} and say {body} /
         I want to send {to} an email with the subject {subject}. It says {body} /
         new mail to {to}: {subject} - {body}""",
         """Send a mail to {to} with the text: {body} /
         Send an email with the subject {subject} and the text {body} /
         Write a mail to {to} with the subject {subject}."""),
    tool("send_message", "comm", "Sends a text message to a person",
         [text("to", v.first_name, "Name of the person"), text("text", d.NOTES, "Text of the message")],
         """Send {to} the message: {text} / Tell {to}: {text} / text {to}: {text} / Write to {to}: {text} /
         message {to} - {text} / Please send a message to {to}: {text} / Let {to} know: {text} /
         Send a text to {to} that says {text} / Can you message {to} with {text} / Tell {to} that {text} /
         Please tell {to} that {text}""",
         "Send a message to {to}. / Send the message: {text} / Write to {to}. / Text {to} for me."),
    tool("create_event", "agenda", "Puts an event into the calendar",
         [text("title", d.SUBJECTS, "Title of the event"), text("date", v.date, "Date, YYYY-MM-DD"),
          text("time?", v.time, "Time, HH:MM")],
         """Put {title} into my calendar on {date} / Add {title} to the calendar for {date} at {time} /
         calendar: {title}, {date}, {time} / Enter {title} on {date} in the calendar. /
         Create an event {title} on {date} at {time}. / Schedule {title} for {date} /
         I have {title} on {date} at {time}, put it in my calendar. /
         Please note {title} in the calendar on {date}. / new event {title} {date} {time} /
         Book {title} for {date}, {time}, in my calendar""",
         "Put {title} into my calendar. / Create an event on {date}. / Schedule {title} at {time}."),
    tool("list_events", "agenda_list", "Lists the events of a day", [text("date", v.date, "Date, YYYY-MM-DD")],
         """What is in my calendar on {date}? / Which events do I have on {date}? / Show my calendar for {date}. /
         events {date} / List my appointments on {date}. / Am I busy on {date}? / Do I have anything on {date}? /
         Tell me the events of {date}. / What are my plans for {date}?""",
         "What is in my calendar? / Show my events.", {"events": v.several(d.SUBJECTS, 2, 3)},
         "Your events on {date}: {events}."),
    tool("set_alarm", "alarm", "Sets an alarm clock", [text("time", v.time, "Time, HH:MM"), text("label?", d.TASKS,
        "What the alarm is for")],
         """Wake me at {time} / Set an alarm for {time} / alarm {time} / Wake me up at {time} please /
         I need an alarm at {time}. / Set the alarm clock to {time}. /
         Please set an alarm for {time} with the label {label} / Alarm at {time} for: {label} /
         Can you wake me at {time}? / I have to get up at {time}, set an alarm.""",
         "Set an alarm. / Wake me up tomorrow. / I need an alarm."),
    tool("start_timer", "alarm", "Starts a timer", [whole("minutes", d.MINUTES, "Duration in minutes"), text("name?",
        d.DISHES, "Name of the timer")],
         """Set a timer for {minutes} minutes / timer {minutes} min / Start a timer of {minutes} minutes. /
         {minutes} minutes timer please / Count down {minutes} minutes. /
         Start a {minutes} minute timer for the {name}. / Please start a timer, {minutes} minutes, called {name} /
         Tell me when {minutes} minutes are over. / Could you set a {minutes} minute timer?""",
         "Start a timer. / Set a timer for the {name}. / timer please"),
    tool("play_music", "music", "Plays a song", [text("title", v.title, "Title of the song"), text("artist?",
        v.full_name, "Name of the artist")],
         """Play {title} / Play the song {title} by {artist} / Play {title} by {artist} please /
         I want to hear {title} / Put on {title} by {artist}. / music: {title} / Can you play {title}? /
         Start the song {title}. / Let us listen to {title}. / play {title} from {artist}""",
         "Play a song. / Play something by {artist}. / Play some music."),
    tool("set_volume", "volume", "Sets the volume of the speaker", [whole("level", d.PERCENT, "0 to 100")],
         """Set the volume to {level} / volume {level} / Turn the volume to {level} percent. /
         Make the speaker {level} percent loud. / Volume at {level} please / I want the volume at {level}. /
         Please put the volume on {level}. / Change the volume to {level} / Loudness {level}""",
         "Change the volume. / Set the volume, please."),
    tool("set_light", "light", "Switches the light of a room on or off",
         [text("room", d.ROOMS, "Name of the room"), enum("state", ("on", "off"), "New state")],
         """Turn {state} the light in the {room} / Turn the {room} light {state} /
         Switch {state} the lights in the {room}. / lights {state} in the {room} / {room} light {state} /
         Please switch the light of the {room} {state}. / Could you turn the lights {state} in the {room}? /
         Light {state} in the {room}! / The {room} lights {state} please""",
         "Turn {state} the light. / Switch the lights {state}. / Light {state} please"),
    tool("dim_light", "light", "Sets the brightness of a lamp",
         [text("lamp", d.ROOMS, "Room of the lamp"), whole("brightness", d.PERCENT, "Percent")],
         """Dim the lamp in the {lamp} to {brightness} percent /
         Set the brightness of the {lamp} lamp to {brightness} / {lamp} lamp at {brightness} percent /
         dim {lamp} {brightness} / Make the {lamp} lamp {brightness} percent bright. /
         I want the lamp in the {lamp} at {brightness}. / Please dim the {lamp} lamp to {brightness}. /
         Brightness {brightness} for the lamp in the {lamp}""",
         "Dim the lamp in the {lamp}. / Dim the lights to {brightness} percent."),
    tool("set_temperature", "heating", "Sets the heating of a room",
         [text("room", d.ROOMS, "Name of the room"), number("degrees", v.decimal(14, 26), "Degrees Celsius")],
         """Heat the {room} to {degrees} degrees / Set the temperature in the {room} to {degrees} /
         {room} at {degrees} degrees please / Make it {degrees} degrees in the {room}. /
         I want {degrees} degrees in the {room}. / thermostat {room} {degrees} /
         Please set the heating of the {room} to {degrees} degrees. / Turn the heating in the {room} to {degrees}. /
         The {room} should have {degrees} degrees.""",
         "Heat the {room}. / Set the heating to {degrees} degrees. / Make the {room} warmer."),
    tool("translate", "language", "Translates a text into another language",
         [text("text", d.NOTES, "The text"), text("language", d.LANGUAGES, "Target language")],
         """Translate "{text}" into {language} / translate to {language}: {text} /
         How do you say "{text}" in {language}? / What is "{text}" in {language}? / "{text}" in {language} please /
         Please translate this into {language}: {text} / I need the {language} for "{text}". /
         Say "{text}" in {language}. / Can you put "{text}" into {language}?""",
         'Translate "{text}". / Translate this for me: {text} / Translate something into {language}.',
         {"translation": d.foreign}, "In {language} it is: {translation}."),
    tool("convert_currency", "currency", "Converts an amount of money",
         [number("amount", v.integer(1, 5000), "Amount"), text("from", d.CURRENCIES, "Currency code"),
          text("to", d.CURRENCIES, "Currency code")],
         """Convert {amount} {from} to {to} / How much is {amount} {from} in {to}? / {amount} {from} in {to} /
         What are {amount} {from} in {to}? / Change {amount} {from} into {to}. / exchange {amount} {from} -> {to} /
         I have {amount} {from}, how many {to} is that? / Please convert {amount} {from} into {to}. /
         How many {to} do I get for {amount} {from}?""",
         "Convert {amount} {from}. / How much is {amount} {from}? / Convert money to {to}.",
         {"amount": v.decimal(1, 9000, 2)}, "That is {amount} {to}."),
    tool("get_stock_price", "stocks", "Price of a share", [text("symbol", d.SYMBOLS, "Symbol of the share")],
         """What is the price of {symbol}? / stock price {symbol} / How is the {symbol} share doing? /
         Price of {symbol} stock / What does a share of {symbol} cost? / {symbol} quote please /
         Look up the stock {symbol}. / Tell me the share price of {symbol}. /
         How much is {symbol} on the stock market?""", "What is the stock price? / Give me a share price.",
         {"price": v.decimal(1, 900, 2), "currency": v.either("EUR", "USD")},
         "A share of {symbol} costs {price} {currency}."),
    tool("get_route", "maps", "Finds the way between two places",
         [text("start", v.city, "Start"), text("goal", v.city, "Destination"),
          enum("by?", ("car", "bike", "foot"), "Means of travel")],
         """How do I get from {start} to {goal}? / Route from {start} to {goal} /
         Find the way from {start} to {goal} by {by}. / directions {start} to {goal} /
         Show me the way from {start} to {goal}. / How far is it from {start} to {goal} by {by}? /
         I want to go from {start} to {goal} by {by}. / Navigate from {start} to {goal}. /
         What is the best way from {start} to {goal}?""",
         "How do I get to {goal}? / Show me the way to {goal}. / Find a route from {start}.",
         {"km": v.integer(13, 900), "hours": v.integer(1, 12)},
         "From {start} to {goal} it is {km} km and takes {hours} hours."),
    tool("call_taxi", "taxi", "Orders a taxi", [text("address", v.street, "Where to pick up"), text("time?", v.time,
        "Time, HH:MM")],
         """Call a taxi to {address} / I need a taxi at {address} / taxi {address} /
         Order a cab to {address} at {time}. / Send a taxi to {address} for {time} please /
         Get me a taxi from {address}. / Could you order a taxi to {address}? / A taxi to {address} at {time} /
         Please have a cab pick me up at {address}.""", "Call a taxi. / I need a taxi. / Order a cab at {time}."),
    tool("book_table", "restaurant", "Books a table in a restaurant",
         [text("restaurant", v.title, "Name of the restaurant"), whole("people", v.integer(1, 12), "Number of people"),
          text("time", v.time, "Time, HH:MM")],
         """Book a table for {people} at {restaurant} at {time} /
         Reserve a table in the {restaurant} for {people} people at {time}. /
         table {restaurant} {people} people {time} / I want to eat at {restaurant} at {time}, we are {people}. /
         A table for {people} in {restaurant} at {time} please /
         We are {people} people and want to dine at {restaurant} at {time}. /
         Please book {restaurant} for {people} at {time}. /
         Can you get us a table for {people} at {restaurant}, {time}?""",
         """Book a table at {restaurant} at {time}. / Reserve a table for {people} people at {restaurant}. /
         Book a table for {people} at {time}."""),
    tool("find_restaurant", "restaurant", "Finds restaurants in a city",
         [CITY, text("cuisine?", d.CUISINES, "Kind of food")],
         """Find a restaurant in {city} / Where can I eat in {city}? / restaurants in {city} /
         Find a {cuisine} restaurant in {city}. / Where do I get {cuisine} food in {city}? /
         {cuisine} restaurants {city} / I am hungry and in {city}. / Good places to eat in {city}? /
         I want to eat {cuisine} food in {city}.""",
         "Find a restaurant. / Where can I eat {cuisine} food? / I am hungry, find me a restaurant.",
         {"restaurants": v.several(v.title, 2, 3)}, "In {city} you can go to {restaurants}."),
    tool("add_to_cart", "shop", "Puts a product into the shopping cart",
         [text("product", v.thing, "Name of the product"), whole("quantity", v.integer(1, 40), "How many")],
         """Put {quantity} of {product} into my cart / Add {quantity} {product} to the cart /
         cart: {quantity} x {product} / I want to buy {quantity} of the {product}. /
         {quantity} {product} into the shopping cart please /
         Please add {product} to my cart, quantity {quantity}. /
         I take {quantity} of {product}, put them in the cart. / Shopping cart: {product}, {quantity} pieces""",
         "Put {product} into my cart. / Add {product} to the cart. / Add {quantity} pieces to the cart."),
    tool("get_order_status", "orders", "Status of an order in the shop", [text("order_id", v.code, "Id of the order")],
         """Where is my order {order_id}? / status of order {order_id} /
         What is the status of the order {order_id}? / Has order {order_id} been sent? / order {order_id} status /
         Check order {order_id} please / When does my order {order_id} come? / I am waiting for order {order_id}. /
         Look up the order {order_id}.""",
         "Where is my order? / What is the status of my order? / When does my order come?",
         {"status": v.either("paid", "packed", "shipped", "delivered", "cancelled")},
         "The order {order_id} is {status}."),
    tool("track_parcel", "parcel", "Finds out where a parcel is",
         [text("tracking_number", v.code, "Number of the parcel")],
         """Track the parcel {tracking_number} / Where is parcel {tracking_number}? / parcel {tracking_number} /
         Track my package {tracking_number} please / Where is my package with the number {tracking_number}? /
         Has the parcel {tracking_number} arrived? / Follow package {tracking_number}. /
         Can you track {tracking_number}?""",
         """Track my parcel. / Where is my package?""",
         {"place": v.city, "days": v.integer(1, 6)}, "The parcel is in {place} and arrives in {days} days."),
    tool("read_file", "files", "Reads a file", [text("path", d.FILES, "Path of the file")],
         """Read {path} / Open the file {path} / What is in {path}? / Show me {path}. / cat {path} /
         Show the contents of {path}. / Can you read the file {path}? / I want to see {path}. /
         print the file {path}""",
         "Read a file. / Open the file. / What is in the file?",
         {"content": d.NOTES}, "{path} says: {content}."),
    tool("write_file", "files", "Writes a text into a file", [text("path", d.FILES, "Path of the file"), text("content",
        d.NOTES, "The text"), flag("append?", v.boolean, "Add to the end")],
         """Write "{content}" into {path} / Save the text "{content}" as {path} /
         Create {path} with the content: {content} / Put "{content}" into the file {path}. /
         write to {path}: {content} / Save to {path}: {content} /
         Please write a file {path} that says "{content}". / The file {path} should contain "{content}".""",
         'Write "{content}" into a file. / Save "{content}". / Write something to {path}.'),
    tool("delete_file", "files_delete", "Deletes a file", [text("path", d.FILES, "Path of the file")],
         """Delete {path} / Remove the file {path} / rm {path} / Please delete the file {path}. /
         I do not need {path} any more, delete it. / Get rid of {path}. / Erase {path}. / Can you delete {path}? /
         Throw away the file {path}.""",
         "Delete the file. / Remove a file."),
    tool("query_database", "database", "Reads rows of a table of the database",
         [text("table", d.ENTITIES, "Name of the table"), whole("limit?", v.integer(1, 100), "At most so many rows")],
         """Show the table {table} / Select the rows of {table} / Give me {limit} rows of the table {table}. /
         First {limit} rows of {table} in the database / database table {table} / What is in the table {table}? /
         Read {table} from the database, at most {limit} rows. / Query the {table} table. /
         Select {limit} {table} from the database.""", "Query the database. / Show me {limit} rows.",
         {"rows": v.several(v.title, 2, 3)}, "The table {table} has the rows {rows}."),
    tool("add_note", "notes", "Saves a note", [text("text", d.NOTES, "The note"), words("tags?", v.several(v.tag, 2, 3),
        "Tags of the note")],
         """Note: {text} / Make a note: {text} / Write down: {text} / Save a note that says {text} /
         Take a note: {text} / Keep a note with the tags {tags}: {text} / note with tags {tags}: {text} /
         Please note down: {text} / Can you take a note for me: {text}""",
         "Make a note. / Take a note with the tags {tags}. / Save a note for me."),
    tool("add_todo", "agenda", "Adds a task to the to-do list",
         [text("task", d.TASKS, "What to do"), enum("priority?", ("low", "normal", "high"), "How urgent")],
         """Add "{task}" to my to-do list / todo: {task} / I have to {task}, put it on my list. /
         Remember that I have to {task}. / New task: {task} / Add the task "{task}" with {priority} priority. /
         To-do with {priority} priority: {task} / Put "{task}" on the todo list. / On my list: {task}""",
         "Add a task to my list. / New task with {priority} priority"),
    tool("set_reminder", "agenda", "Reminds the user at a time",
         [text("text", d.TASKS, "What to remind of"), text("time", v.time, "Time, HH:MM")],
         """Remind me at {time} to {text} / reminder {time}: {text} / At {time}, remind me to {text}. /
         Please remind me to {text} at {time}. / Set a reminder for {time}: {text} /
         Do not let me forget to {text} at {time}. / I must {text} at {time}, remind me. /
         Could you remind me at {time} to {text}?""", "Remind me to {text}. / Set a reminder for {time}."),
    tool("find_contact", "contacts", "Looks up a person in the address book",
         [text("name", v.full_name, "Name of the person")],
         """What is the phone number of {name}? / Find {name} in my contacts / contact {name} /
         Look up {name} in the address book. / How can I reach {name}? / Show me the contact of {name}. /
         Do I have the number of {name}? / Search my contacts for {name}. / Which address does {name} have?""",
         """Find a contact. / Look someone up in my address book.""",
         {"phone": v.phone, "email": v.email}, "{name} has the phone number {phone} and the e-mail {email}."),
    tool("call_person", "call", "Makes a phone call", [text("name", v.first_name, "Whom to call")],
         """Call {name} / Phone {name} / Ring {name} please / Please call {name}. /
         I want to speak to {name} on the phone. / dial {name} / Can you call {name} for me? / Give {name} a call. /
         Start a phone call with {name}.""",
         "Make a phone call. / Call someone for me."),
    tool("take_photo", "camera", "Takes a photo", [enum("camera?", ("front", "back"), "Which camera"), whole("delay?",
        v.integer(1, 30), "Seconds to wait")],
         """Take a photo / photo please / Take a picture with the {camera} camera /
         Use the {camera} camera and take a photo. / Take a photo in {delay} seconds. / Make a picture. /
         Can you take a picture? / A photo with the {camera} camera in {delay} seconds /
         Shoot a photo with the {camera} camera."""),
    tool("lock_door", "door", "Locks or unlocks a door", [text("door", v.table("front", "back", "garage", "cellar",
        "garden", "office", "side", "kitchen", "main", "attic"), "Which door"),
                                                          flag("locked", v.boolean, "true to lock, false to unlock")],
         """{locked:Lock|Unlock} the {door} door / Please {locked:lock|unlock} the {door} door. /
         {door} door: {locked:lock|unlock} it / The {door} door should be {locked:locked|unlocked}. /
         I want the {door} door {locked:locked|unlocked}. / Can you {locked:lock|unlock} the {door} door? /
         {locked:lock|unlock} {door} door / Make sure the {door} door is {locked:locked|unlocked}. /
         Go and {locked:lock|unlock} the {door} door.""",
         "{locked:Lock|Unlock} the door. / Please {locked:lock|unlock} a door."),
    tool("move_robot", "robot", "Moves the robot", [enum("direction", ("forward", "backward", "left", "right"),
                                                         "Direction"), number("distance", v.decimal(0, 20), "Metres")],
         """Move the robot {distance} metres {direction} / robot {direction} {distance} /
         Drive the robot {direction} for {distance} metres. / Let the robot go {distance} metres {direction}. /
         The robot should move {direction} by {distance} metres. / Robot: {distance} m {direction} /
         Please move the robot {direction}, {distance} metres. / Send the robot {distance} metres {direction}.""",
         "Move the robot {direction}. / Move the robot {distance} metres."),
    tool("get_news", "news", "Latest news about a topic", [text("topic", d.SUBJECTS, "Topic"), whole("count?",
        v.integer(2, 12), "Number of headlines")],
         """What is the news about {topic}? / news {topic} / Latest news about {topic} /
         Give me {count} headlines about {topic}. / Is there any news on {topic}? / Show the news about {topic}. /
         What is new about {topic}? / {count} news items on {topic} please / Read me the headlines about {topic}.""",
         "What is the news? / Give me {count} headlines.",
         {"headlines": v.several(v.title, 2, 3)}, "The headlines about {topic}: {headlines}."),
    tool("get_score", "sports", "Result of the last game of a team", [text("team", d.TEAMS, "Name of the team")],
         """How did {team} play? / score {team} / What was the result of {team}? / Did {team} win? /
         How did the game of {team} end? / Result of the last {team} game / Tell me the score of {team}. /
         Have {team} won their game? / {team} result please""",
         "What was the score? / How did my team play?", {"score": v.either("2:1", "0:0", "3:2", "1:4", "5:0", "2:2"),
                                                         "opponent": d.TEAMS},
         "{team} played {score} against {opponent}."),
    tool("find_recipe", "recipes", "Finds recipes with ingredients",
         [words("ingredients", v.several(v.food, 2, 4), "What must be in it")],
         """What can I cook with {ingredients}? / recipe with {ingredients} / Find a recipe with {ingredients}. /
         I have {ingredients}. What can I cook? / Recipes that use {ingredients} /
         Show me a dish with {ingredients}. / I want to cook something with {ingredients}. /
         Which recipe has {ingredients} in it?""",
         """Find a recipe. / What can I cook?""",
         {"recipe": d.DISHES, "minutes": v.integer(10, 90)}, "You can cook {recipe} in {minutes} minutes."),
    tool("find_train", "train", "Finds a train between two stations",
         [text("from", v.city, "Station of departure"), text("to", v.city, "Station of arrival"),
          text("time?", v.time, "Not before this time")],
         """When is a train from {from} to {to}? / train {from} {to} /
         Find a train from {from} to {to} after {time}. / Trains from {from} to {to} /
         I need a train to {to} from {from} at {time}. / Next train from {from} to {to}? /
         Which train goes from {from} to {to}? / I want to take the train from {from} to {to}.""",
         """When is a train to {to}? / Find a train from {from}. / I need a train after {time}.""",
         {"departure": v.time, "platform": v.integer(1, 20)},
         "The train to {to} leaves at {departure} from platform {platform}."),
    tool("search_flights", "flight", "Searches flights", [text("origin", v.city, "City of departure"),
                                                          text("destination", v.city, "City of arrival"),
                                                          text("date", v.date, "Date, YYYY-MM-DD")],
         """Find a flight from {origin} to {destination} on {date} / flights {origin} {destination} {date} /
         I want to fly from {origin} to {destination} on {date}. /
         Which flights go from {origin} to {destination} on {date}? /
         On {date} I fly from {origin} to {destination}, find me a flight. /
         Fly me to {destination} from {origin} on {date}. /
         Are there flights from {origin} to {destination} on {date}? /
         Search flights to {destination}, from {origin}, {date}.""",
         """Find a flight from {origin} to {destination}. / I want to fly to {destination} on {date}. /
         Search flights from {origin} on {date}.""",
         {"flight": v.code, "price": v.decimal(20, 900)}, "Flight {flight} to {destination} costs {price}."),
    tool("book_hotel", "hotel", "Books a hotel room", [CITY, text("date", v.date, "First night, YYYY-MM-DD"),
                                                       whole("nights", v.integer(1, 20), "Number of nights")],
         """Book a hotel in {city} for {nights} nights from {date} / hotel {city} {date} {nights} nights /
         I need a hotel room in {city} on {date} for {nights} nights. /
         Reserve a room in {city}, {nights} nights, from {date}. /
         I stay {nights} nights in {city} from {date}, book a hotel. /
         Please book me {nights} nights in a hotel in {city} on {date}. /
         From {date} I want a hotel in {city}, {nights} nights. /
         A hotel room for {nights} nights in {city} starting {date}""",
         """Book a hotel in {city} on {date}. / I need a hotel for {nights} nights. /
         Book a room in {city} for {nights} nights."""),
    tool("find_movie", "movies", "What a cinema shows", [text("cinema", v.title, "Name of the cinema"), text("date?",
        v.date, "Date, YYYY-MM-DD")],
         """What does the cinema {cinema} show? / movies at {cinema} / Which films are on at {cinema} on {date}? /
         What is on at the {cinema} cinema? / Show me the program of the cinema {cinema}. /
         I want to see a film at {cinema}. / films in the {cinema} on {date} / Which movies can I see at {cinema}?""",
         """What is on at the cinema? / Which films are on at {date}?""",
         {"movies": v.several(v.title, 2, 3)}, "{cinema} shows {movies}."),
    tool("reserve_book", "library", "Reserves a book in the library",
         [text("title", v.title, "Title of the book"), text("reader", v.full_name, "Who reads it")],
         """Reserve the book {title} for {reader} / Library: {title} for {reader} /
         {reader} wants to borrow {title}. / Put {title} aside for {reader} in the library. /
         Please reserve {title}, the reader is {reader}. / Book reservation: {title}, {reader} /
         I am {reader} and want to borrow the book {title}. / Could you reserve {title} in the name of {reader}?""",
         "Reserve the book {title}. / {reader} wants to borrow a book."),
    tool("transfer_money", "bank", "Transfers money to a person",
         [text("to", v.full_name, "Receiver"), number("amount", v.decimal(1, 900, 2), "Amount in euros"),
          text("purpose?", d.SUBJECTS, "Purpose")],
         """Transfer {amount} euros to {to} / Send {amount} euros to {to} / pay {to} {amount} euros /
         Pay {amount} euros to {to} for {purpose}. / {to} gets {amount} euros from me. /
         Please transfer {amount} to {to}, purpose {purpose} / I owe {to} {amount} euros, transfer the money. /
         bank transfer: {to}, {amount}""", "Transfer {amount} euros. / Send money to {to}. / Pay {to} for {purpose}."),
    tool("get_balance", "balance", "Balance of a bank account", [text("account", v.code, "Number of the account")],
         """How much money is on the account {account}? / balance {account} /
         What is the balance of account {account}? / Show the balance of {account}. /
         Account {account}: how much is left? / Check the balance of the account {account}. /
         How much do I have on {account}? / Tell me the balance of my account {account}.""",
         """How much money do I have? / What is my balance?""",
         {"balance": v.decimal(1, 9000, 2)}, "The balance of account {account} is {balance}."),
    tool("convert_units", "units", "Converts between units of measure",
         [number("value", v.integer(1, 500), "The number"), text("from_unit", d.UNITS, "Unit to convert from"),
          text("to_unit", d.UNITS, "Unit to convert to")],
         """Convert {value} {from_unit} to {to_unit} / How many {to_unit} are {value} {from_unit}? /
         {value} {from_unit} in {to_unit} / What are {value} {from_unit} in {to_unit}? /
         {value} {from_unit} -> {to_unit} / I have {value} {from_unit}, how much is that in {to_unit}? /
         Please turn {value} {from_unit} into {to_unit}. / {value} {from_unit} equals how many {to_unit}?""",
         """Convert {value} {from_unit}. / How many {to_unit} is that?""",
         {"value": v.decimal(1, 900, 2)}, "That is {value} {to_unit}."),
    tool("define_word", "dictionary", "Looks a word up in the dictionary", [text("word", v.word, "The word")],
         """What does {word} mean? / Define {word} / definition of {word} / Look up the word {word}. /
         What is the meaning of {word}? / dictionary: {word} / Explain the word {word}. /
         Please define the word {word}. / I do not know the word {word}.""",
         "Define a word. / Look up a word in the dictionary.",
         {"definition": d.picture}, "{word} means: {definition}."),
    tool("random_number", "random", "Draws a random number", [whole("min", v.integer(0, 50), "Smallest number"),
                                                              whole("max", v.integer(51, 999), "Largest number")],
         """Give me a random number between {min} and {max} / random {min} {max} /
         A number from {min} to {max} please / Pick a number between {min} and {max}. /
         Draw a random number from {min} to {max}. / Choose any number between {min} and {max}. /
         random number, {min} to {max} / I need a random number of {min} to {max}.""",
         """Give me a random number. / Pick a number from {min} up.""",
         {"number": v.integer(1, 900)}, "The number is {number}."),
    tool("roll_dice", "dice", "Rolls dice", [whole("count?", v.integer(2, 9), "Number of dice"), whole("sides?",
        v.integer(4, 20), "Sides of a die")],
         """Roll a die / Roll the dice / Roll {count} dice / Throw {count} dice with {sides} sides. / dice please /
         Roll {count} dice, {sides} sides each / Throw a die with {sides} sides. / Can you roll {count} dice? /
         Let the dice fall.""",
         "", {"rolls": v.several(v.integer(1, 20), 2, 3)}, "The dice show {rolls}."),
    tool("make_move", "chess", "Plays a move in the game of chess", [text("move", d.CHESS, "The move, such as e2e4")],
         """I play {move} / Move {move} / My move is {move}. / chess: {move} / Play {move} on the board. /
         Make the move {move}. / Next move {move} / I move {move}. / Chess move {move} please""",
         "Make a chess move. / It is my move in chess."),
    tool("git_create_branch", "git", "Creates a branch in the repository",
         [text("branch", d.branch, "Name of the branch"), text("base?", v.table("main", "develop", "stable", "master",
             "trunk", "next"), "Branch to start from")],
         """Create a branch {branch} / git branch {branch} / New branch {branch} from {base} /
         Make a branch called {branch}. / Branch off {branch} from {base}. / I need a git branch {branch}. /
         Please create the branch {branch} based on {base}. / start branch {branch}""",
         "Create a branch. / New branch from {base}"),
    tool("git_commit", "git_commit", "Commits the changes", [text("message", d.TASKS, "Commit message"), flag("push?",
        v.boolean, "Push afterwards")],
         """Commit with the message "{message}" / git commit -m "{message}" / Commit my changes: {message} /
         commit: {message} / Commit everything with the message "{message}" and {push:push it|do not push it}. /
         Make a commit that says "{message}". / Please commit as "{message}", {push:with a push|without a push}. /
         Save my changes in git with the message "{message}".""", "Commit my changes. / git commit please"),
    tool("run_build", "ci", "Starts a build job", [text("job", d.BUILDS, "Name of the job"), flag("clean?", v.boolean,
        "Build from scratch")],
         """Start the build {job} / run the {job} build / Build {job} / Please start the job {job}. /
         Kick off the {job} job. / CI: {job} / Run the {job} job {clean:from scratch|without cleaning}. /
         Can you build {job}? / I need a new {job} build, {clean:clean|not clean}.""",
         "Start a build. / Run the build."),
    tool("restart_server", "servers", "Restarts a server", [text("server", d.SERVERS, "Name of the server")],
         """Restart {server} / Restart the server {server} / reboot {server} / Please reboot the server {server}. /
         {server} hangs, restart it. / Server {server} must be restarted. / Can you restart {server}? /
         Bring {server} down and up again.""", "Restart the server. / Reboot a server."),
    tool("get_logs", "logs", "Last lines of the log of a server",
         [text("server", d.SERVERS, "Name of the server"), whole("lines", v.integer(5, 500), "Number of lines"),
          enum("level?", ("debug", "info", "warning", "error"), "Lowest level")],
         """Show the last {lines} lines of the log of {server} / logs {server} {lines} /
         Give me {lines} log lines from {server}. / tail -{lines} log of {server} /
         {lines} lines of {server} logs with level {level} / The log of {server} please, {lines} lines /
         I want to see {lines} lines of the {server} log at level {level}. /
         Last {lines} {level} messages in the log of {server}""",
         "Show the log of {server}. / Show me {lines} lines of the log.",
         {"lines": v.several(d.NOTES, 2, 3)}, "The log of {server} says: {lines}."),
    tool("read_sensor", "sensor", "Reads a sensor", [text("sensor_id", v.code, "Id of the sensor")],
         """Read sensor {sensor_id} / What does the sensor {sensor_id} say? / sensor {sensor_id} /
         Value of sensor {sensor_id} / Check the sensor {sensor_id}. / Give me the reading of {sensor_id}. /
         What is the value of the sensor {sensor_id}? / Please read out sensor {sensor_id}.""",
         "Read the sensor. / What does the sensor say?", {"value": v.decimal(0, 90), "unit": v.either("C", "hPa",
             "percent", "lux")}, "The sensor {sensor_id} reads {value} {unit}."),
    tool("print_document", "printer", "Prints a document", [text("file", d.FILES, "Name of the file"), whole("copies?",
        v.integer(1, 40), "Number of copies"), flag("color?", v.boolean, "Print in color")],
         """Print {file} on the printer / Print {copies} copies of {file} / printer: {file} /
         I need {copies} printouts of {file}. / Print {file} {color:in color|in black and white}. /
         Please print {file} {copies} times. / Print {copies} copies of {file} {color:in color|without color}. /
         Send {file} to the printer. / put {file} on paper""",
         "Print a document. / Print {copies} copies."),
    tool("water_plant", "watering", "Waters a plant", [text("plant", d.SPECIES, "Which plant"), whole("milliliters",
        v.integer(50, 900), "Amount of water")],
         """Water the {plant} with {milliliters} ml / Give the {plant} {milliliters} ml of water /
         {plant}: {milliliters} ml water / The {plant} needs {milliliters} milliliters of water. /
         Please water the {plant}, {milliliters} ml. / Pour {milliliters} ml on the {plant}. /
         water {plant} {milliliters} / {milliliters} ml for the {plant}""",
         "Water the {plant}. / Water the plants with {milliliters} ml."),
    tool("feed_pet", "pets", "Lets the feeder give food to a pet",
         [text("pet", v.first_name, "Name of the pet"), whole("grams", v.integer(5, 300), "Amount of food")],
         """Feed {pet} {grams} grams / Give {pet} {grams} g of food / {pet} gets {grams} grams of food /
         feed {pet} {grams} / Please feed {pet} with {grams} grams. / {grams} grams for {pet} from the feeder /
         {pet} is hungry, give {grams} grams. / Can you feed {pet}, {grams} g?""",
         "Feed {pet}. / Feed the cat with {grams} grams. / {pet} is hungry."),
    tool("set_channel", "tv", "Switches the television to a channel",
         [whole("channel", v.integer(1, 99), "Number of the channel")],
         """Switch to channel {channel} / channel {channel} / Put the TV on channel {channel} /
         I want to watch channel {channel}. / TV channel {channel} please / Television: channel {channel} /
         Go to channel {channel} on the TV. / Show channel {channel}.""",
         "Change the channel. / Switch the TV to another channel."),
    tool("start_vacuum", "vacuum", "Starts the vacuum cleaner in some rooms",
         [words("rooms", v.several(d.ROOMS, 2, 3), "The rooms to clean"),
          enum("mode?", ("quiet", "normal", "strong"), "How hard it works")],
         """Vacuum the {rooms} / Clean the {rooms} with the vacuum / vacuum {rooms} /
         Start the vacuum cleaner in the {rooms}. / The vacuum should do the {rooms} in {mode} mode. /
         Hoover the {rooms} please / {mode} vacuuming in the {rooms} / Let the vacuum cleaner do the {rooms}.""",
         "Start the vacuum cleaner. / Vacuum in {mode} mode."),
    tool("make_coffee", "coffee", "Makes coffee", [enum("kind", ("espresso", "cappuccino", "latte", "americano"),
                                                        "Kind of coffee"),
                                                   whole("cups?", v.integer(1, 8), "Number of cups"),
                                                   flag("sugar?", v.boolean, "With sugar")],
         """Make a {kind} / {kind} please / I would like a {kind}. / Make {cups} cups of {kind}. /
         {cups} cups of {kind} {sugar:with sugar|without sugar} / A {kind} {sugar:with sugar|without sugar} please /
         Brew {cups} cups of {kind}. / Can I have a {kind}? / One {kind} {sugar:with sugar|without sugar}, please""",
         "Make coffee. / I want {cups} cups of coffee. / coffee {sugar:with sugar|without sugar} please"),
    tool("set_blinds", "blinds", "Moves the blinds of a room",
         [text("room", d.ROOMS, "Name of the room"), whole("percent", d.PERCENT, "0 is open, 100 is closed")],
         """Set the blinds in the {room} to {percent} percent / blinds {room} {percent} /
         Move the {room} blinds to {percent}. / The blinds of the {room} at {percent} percent /
         Close the blinds in the {room} to {percent} percent. / I want the {room} blinds at {percent}. /
         Please put the blinds in the {room} to {percent}. / Blinds in the {room}: {percent} percent""",
         "Move the blinds in the {room}. / Set the blinds to {percent} percent."),
    tool("find_parking", "parking", "Finds a free parking place",
         [text("street", v.street, "Street"), whole("hours?", v.integer(1, 12), "How long")],
         """Where can I park near {street}? / parking {street} / Find a parking place near {street} /
         I want to park for {hours} hours near {street}. / Is there parking at {street}? /
         Free parking near {street} for {hours} hours / I need to leave my car at {street}. /
         Can I park at {street}?""", "Where can I park? / I need parking for {hours} hours.",
         {"place": v.street, "free": v.integer(1, 60)}, "You can park at {place}, {free} places are free."),
    tool("create_ticket", "tickets", "Opens a ticket", [text("title", d.TASKS, "What it is about"), enum("priority",
        ("low", "medium", "high"), "Priority"), words("labels?", v.several(v.tag, 2, 3), "Labels")],
         """Open a ticket "{title}" with {priority} priority / ticket: {title}, priority {priority} /
         Create a {priority} priority ticket: {title} / New ticket "{title}", {priority} priority, labels {labels} /
         File a ticket with the title "{title}" and priority {priority}. /
         I want to report a ticket: {title}. Priority {priority}. /
         Please open a {priority} ticket called "{title}" with the labels {labels}. /
         issue ticket {title} {priority}""", 'Open a ticket "{title}". / Create a ticket with {priority} priority.'),
    tool("log_run", "fitness", "Saves a run in the training diary",
         [number("kilometers", v.decimal(1, 42), "Distance"), whole("minutes", v.integer(10, 240), "Duration")],
         """I ran {kilometers} km in {minutes} minutes / Log a run of {kilometers} km in {minutes} minutes. /
         run: {kilometers} km, {minutes} min / Save my run: {kilometers} kilometers, {minutes} minutes /
         My run today was {kilometers} km and took {minutes} minutes. /
         Note my run, {minutes} minutes for {kilometers} km. /
         Training diary: ran {kilometers} km, {minutes} minutes /
         I just ran {kilometers} kilometers in {minutes} minutes.""",
         "I ran {kilometers} km. / Log a run of {minutes} minutes."),
    tool("generate_password", "password", "Makes a password",
         [whole("length", v.integer(8, 40), "Number of characters"), flag("digits?", v.boolean, "With digits")],
         """Make a password of {length} characters / password {length} /
         Give me a password with {length} characters. /
         I need a new password, {length} characters long, {digits:with digits|without digits}. /
         A password with {length} letters, {digits:with digits|without digits} /
         Generate a password of length {length}. / Please create a {length} character password. /
         New password, length {length}""",
         "Make a password. / I need a new password {digits:with digits|without digits}.",
         {"password": d.secret}, "The password is {password}"),
    tool("shorten_url", "url", "Makes a short link", [text("url", d.link, "The long link")],
         """Shorten {url} / Make a short link for {url} / short url {url} / Please shorten the link {url} /
         I need a short link to {url} / Can you make {url} shorter? / Give me a short version of {url} /
         tiny link for {url}""", "Shorten a link. / Make a short link.",
         {"short_url": d.link}, "The short link is {short_url}"),
    tool("create_image", "image", "Draws a picture", [text("prompt", d.picture, "What to draw"), enum("size?", ("small",
        "medium", "large"), "Size of the picture")],
         """Draw {prompt} / Make a picture of {prompt} / image: {prompt} / I want a picture of {prompt}. /
         Paint {prompt} / Draw a {size} picture of {prompt}. / Create an image of {prompt}, size {size}. /
         A {size} picture of {prompt} please / Can you draw {prompt}?""", "Draw a picture. / Make a {size} picture."),
    tool("count_words", "text", "Counts the words of a text", [text("text", d.NOTES, "The text")],
         """How many words has "{text}"? / Count the words in "{text}" / word count: {text} /
         Number of words in "{text}" / Please count the words of this text: {text} /
         How many words are in this: {text} / count words "{text}" / How long is "{text}" in words?""",
         "Count the words. / Do a word count.", {"words": v.integer(2, 12)}, "The text has {words} words."),
    tool("add_player", "teams", "Adds a player to a team", [text("team", d.TEAMS, "Name of the team"), text("player",
        v.full_name, "Name of the player"), whole("number?", v.integer(1, 99), "Number on the shirt")],
         """Add {player} to {team} / {player} plays for {team} now, add the player. /
         Put {player} into the team {team} with the number {number} / New player for {team}: {player} /
         {team} gets {player} with number {number}. / team {team}: add player {player} / Sign {player} for {team}. /
         Please add the player {player}, number {number}, to {team}.""",
         "Add {player} to the team. / Add a player to {team}."),
    tool("rate_film", "ratings", "Rates a film", [text("film", v.title, "Title of the film"), whole("stars",
        v.integer(1, 5), "1 to 5 stars")],
         """Give {film} {stars} stars / Rate {film} with {stars} stars / {film}: {stars} stars /
         I rate the film {film} {stars} stars. / {stars} stars for {film} / My rating of {film} is {stars} stars. /
         Please rate the film {film}: {stars} / The film {film} deserves {stars} stars.""",
         "Rate the film {film}. / I want to give {stars} stars."),
    tool("charge_car", "charging", "Charges the car up to a level",
         [whole("percent", v.integer(20, 100), "Level to reach"), text("until?", v.time, "Time when it must be ready")],
         """Charge the car to {percent} percent / charge car {percent} /
         Load the car battery up to {percent} percent. / The car should be at {percent} percent by {until}. /
         Charge my car to {percent} until {until}. / I need {percent} percent in the car at {until}. /
         Please charge the car up to {percent}. / Car charging: {percent} percent""",
         "Charge the car. / Charge the car until {until}."),
    tool("rent_bike", "bikes", "Rents a bike at a station", [text("station", v.street, "Name of the station"),
                                                             whole("hours", v.integer(1, 12), "Duration"),
                                                             enum("kind?", ("city", "cargo", "mountain"),
                                                                  "Kind of bike")],
         """Rent a bike at {station} for {hours} hours / bike {station} {hours} hours /
         I want a {kind} bike at {station} for {hours} hours. / A bike from {station}, {hours} hours please /
         Get me a {kind} bike for {hours} hours at {station}. / Bike rental at {station} for {hours} hours /
         I would like to rent a bike for {hours} hours at {station}. /
         Please rent me a {kind} bike, {station}, {hours} hours.""",
         "Rent a bike at {station}. / I want a bike for {hours} hours."),
    tool("log_medicine", "medicine", "Notes that a medicine was taken",
         [text("medicine", v.capital, "Name of the medicine"), text("dose", d.dose, "Dose with its unit")],
         """I took {dose} of {medicine} / Log {dose} {medicine} / medicine: {medicine} {dose} /
         Note that I took {medicine}, {dose}. / I have just taken {dose} of {medicine}, note it. /
         {medicine} {dose} taken / Please write down {dose} of {medicine} as taken. / Took my {medicine}, {dose}""",
         "I took {medicine}. / Log my medicine, {dose}."),
    tool("create_poll", "poll", "Makes a poll", [text("question", v.table("Where do we eat", "Which day is best",
        "What do we play", "Who brings the cake", "Which colour wins", "Where do we meet", "What is the best pet",
            "Which film do we see"), "The question"), words("options", v.several(v.tag, 2, 4), "The answers")],
         """Make a poll "{question}" with the options {options} / poll: {question}? {options} /
         Ask everybody "{question}" with {options} as answers. / Create a poll: {question}? Options: {options} /
         Start a vote "{question}", choices {options} /
         I need a poll with the question "{question}" and the options {options}. /
         A poll please: "{question}" - {options} / Let us vote: {question}? {options}""",
         'Make a poll "{question}". / Create a poll with the options {options}.'),
]
