"""The kinds of objects that the topic "objects" describes. An attribute has a key, a generator of
values, the sentences that state it (~ is the subject, {} the value; for yes and no a pair of sentences)
and other keys that a user may give it. A sentence without the key must still identify the attribute,
because the user does not always name the keys."""

from dataclasses import dataclass

from . import invent as v


@dataclass
class Attribute:
    key: str
    draw: object
    clauses: tuple
    also: tuple


def a(key, draw, *clauses, also=()):
    return Attribute(key, draw, clauses, also)


# Every kind has a subject: the attribute that names it, or none ("the order").
SPECIES = v.table("cat", "dog", "rabbit", "hamster", "parrot", "horse", "pony", "goat", "turtle", "mouse", "canary",
                  "ferret",
                  "goldfish", "snake", "donkey", "duck", "hen", "gecko", "frog", "sheep")
GENRES = v.table("fantasy", "crime", "science fiction", "history", "romance", "comedy", "drama", "horror", "adventure",
                 "biography", "poetry", "thriller", "western", "mystery", "travel", "satire")
LANGUAGES = v.table("English", "German", "French", "Spanish", "Italian", "Dutch", "Danish", "Polish", "Turkish",
                    "Greek",
                    "Japanese", "Korean", "Arabic", "Hindi", "Swedish", "Finnish", "Czech", "Swahili")
HOBBIES = v.table("chess", "football", "painting", "reading", "running", "cooking", "swimming", "dancing", "hiking",
                  "singing",
                  "fishing", "cycling", "knitting", "gardening", "sailing", "tennis", "skiing", "climbing", "drawing",
                  "judo")
MATERIALS = v.table("wood", "steel", "glass", "stone", "plastic", "iron", "brick", "copper", "leather", "cotton",
                    "bamboo",
                    "clay", "paper", "wool", "silver", "rubber")
WEATHERS = v.table("sunny", "cloudy", "rainy", "windy", "foggy", "snowy", "stormy", "hazy", "clear", "icy", "humid",
                   "mild")
STATES = v.table("open", "closed", "new", "paid", "sent", "late", "done", "planned", "ready", "blocked", "draft",
                 "cancelled",
                 "shipped", "delivered", "pending", "active")
PLANTS = v.table("rose", "fern", "cactus", "tulip", "oak", "ivy", "mint", "orchid", "basil", "lily", "palm", "bonsai",
                 "daisy",
                 "maple", "birch", "tomato")
SPORTS = v.table("football", "hockey", "rugby", "handball", "volleyball", "basketball", "cricket", "rowing", "baseball",
                 "water polo", "curling", "badminton")
MARKS = v.table("Volta", "Norda", "Kestrel", "Bruma", "Zephyr", "Pinto", "Orion", "Tessera", "Falcon", "Miro", "Astra",
                "Lumen", "Delta", "Comet", "Vireo", "Solis")
INSTRUMENTS = v.table("piano", "violin", "guitar", "drums", "flute", "cello", "trumpet", "harp", "organ", "banjo",
                      "oboe", "tuba")
ROOMS = v.table("Room 4", "the library", "Hall B", "the kitchen", "Room 12", "the garden", "the office", "Hall 3",
                "the lobby",
                "Studio 5", "the school", "the museum", "the town hall", "Room 101", "the old mill", "the park")


def brand(rng, held_out):
    return MARKS(rng, held_out) if rng.random() < 0.4 else v.capital(rng, held_out)


def model(rng, held_out):
    return v.capital(rng, held_out) if rng.random() < 0.5 else v.code(rng, held_out)


def product(rng, held_out):
    """A thing with a word in front: red lamp, Brip chair."""
    front = v.tag(rng, held_out) if rng.random() < 0.6 else v.capital(rng, held_out)
    return f"{front} {v.thing(rng, held_out)}"


YEAR = v.integer(1890, 2030)
COLOUR = ("~ is {}",)

KINDS = {
    "person": ("name", [
        a("name", v.some_name, "~ is called {}", "My friend is called {}", "The name is {}",
          also=("full_name", "Name", "who")),
        a("age", v.integer(3, 98), "~ is {} years old", "~ is {} years of age", "~ has the age {}",
          also=("years", "age_years")),
        a("city", v.city, "~ lives in {}", "~ has a home in {}", "~ comes from the city of {}",
          also=("town", "home", "location")),
        a("job", v.profession, "~ works as a {}", "~ is a {} by profession", "~ has a job as {}",
          also=("profession", "occupation", "work")),
        a("email", v.email, "~ can be reached at {}", "~ writes from {}", "mail: {}",
          also=("mail", "e_mail", "contact")),
        a("hobbies", v.several(HOBBIES), "~ likes {}", "~ enjoys {}", "~ loves {}", also=("likes", "interests")),
        a("married", v.boolean, ("~ is married", "~ is not married"), ("~ is married", "~ isn't married")),
        a("address", v.nested(street=v.street, city=v.city), also=("home",)),
    ]),
    "pet": ("name", [
        a("name", v.first_name, "~ is called {}", "My pet is called {}", "Our pet has the name {}",
          also=("pet_name", "Name")),
        a("kind", SPECIES, "~ is a {}", "~ is a kind of {}", also=("species", "animal", "type")),
        a("age", v.integer(1, 30), "~ is {} years old", "~ has the age {}", also=("years",)),
        a("color", v.colour, *COLOUR, "~ is {} all over", also=("colour", "fur")),
        a("owner", v.some_name, "~ belongs to {}", "~ is owned by {}", also=("belongs_to", "human")),
        a("weight", v.decimal(1, 60), "~ weighs {} kg", "~ weighs {} kilos", also=("weight_kg", "kg")),
        a("vaccinated", v.boolean, ("~ is vaccinated", "~ is not vaccinated"),
          ("~ has been vaccinated", "~ has not been vaccinated")),
        a("toys", v.several(v.thing), "~ plays with the toys {}", "~ has these toys: {}"),
    ]),
    "book": ("title", [
        a("title", v.title, "The book is called {}", "The title is {}", "~ has the title {}", also=("name", "book")),
        a("author", v.full_name, "~ was written by {}", "~ is by {}", "{} wrote it", also=("writer", "by")),
        a("year", YEAR, "~ came out in {}", "~ was published in {}", "~ appeared in {}",
          also=("published", "publication_year")),
        a("pages", v.integer(40, 990), "~ has {} pages", "~ is {} pages long", also=("page_count", "length")),
        a("genre", GENRES, "~ belongs to the genre {}", "Its genre is {}", also=("category", "type")),
        a("language", LANGUAGES, "~ is written in {}", "~ is in {}", also=("lang",)),
        a("price", v.decimal(5, 60, 2), "~ costs {}", "~ sells for {}", also=("cost",)),
        a("available", v.boolean, ("~ is available", "~ is not available"),
          ("You can borrow it: it is available", "~ isn't available")),
    ]),
    "car": ("", [
        a("brand", brand, "~ is made by {}", "~ is of the brand {}", also=("make", "manufacturer")),
        a("model", model, "~ is the model {}", "The model is called {}", also=("type", "name")),
        a("year", YEAR, "~ was built in {}", "~ is from {}", also=("built", "model_year")),
        a("color", v.colour, *COLOUR, "~ is painted {}", also=("colour", "paint")),
        a("doors", v.integer(2, 6), "~ has {} doors", "There are {} doors", also=("door_count",)),
        a("price", v.integer(900, 80000), "~ costs {} euros", "~ sells for {}", also=("cost", "price_eur")),
        a("electric", v.boolean, ("~ is electric", "~ is not electric"),
          ("~ runs on a battery: it is electric", "~ isn't electric")),
        a("owner", v.some_name, "~ belongs to {}", "~ is owned by {}", also=("driver",)),
    ]),
    "city": ("name", [
        a("name", v.city, "~ is called {}", "The city has the name {}", also=("city", "Name")),
        a("country", v.country, "~ lies in {}", "~ is a city in {}", also=("land", "nation")),
        a("population", v.integer(1000, 9000000), "~ has {} inhabitants", "{} people live there",
          also=("inhabitants", "people")),
        a("river", v.capital, "~ lies on the river {}", "The river {} flows through it"),
        a("mayor", v.full_name, "{} is the mayor", "The mayor is called {}", also=("leader",)),
        a("founded", v.integer(500, 1950), "~ was founded in {}", also=("year", "founding_year")),
        a("capital", v.boolean, ("~ is the capital", "~ is not the capital"), also=("is_capital",)),
        a("sights", v.several(v.title, 2, 3), "Its sights are {}", "The sights to see are {}", also=("places",)),
    ]),
    "recipe": ("name", [
        a("name", product, "The recipe is called {}", "~ has the name {}", also=("dish", "recipe", "title")),
        a("ingredients", v.several(v.food, 2, 5), "You need {} as ingredients", "~ is made with {}", "Take {}",
          also=("needs", "shopping")),
        a("minutes", v.integer(5, 180), "~ takes {} minutes", "~ is ready in {} minutes", also=("time", "duration")),
        a("servings", v.integer(1, 12), "~ makes {} servings", "That gives {} servings", also=("portions",)),
        a("vegetarian", v.boolean, ("~ is vegetarian", "~ is not vegetarian"), also=("veggie",)),
        a("difficulty", v.either("easy", "medium", "hard"), "The difficulty is {}", "~ has the difficulty {}",
          also=("level",)),
    ]),
    "order": ("", [
        a("id", v.code, "~ has the id {}", "The id of the order is {}", also=("number", "order_id", "order")),
        a("customer", v.some_name, "~ was placed by the customer {}", "{} is the customer",
          also=("buyer", "client", "name")),
        a("items", v.several(v.thing), "The items are {}", "The ordered items: {}", also=("products", "things")),
        a("total", v.decimal(5, 900, 2), "The total is {}", "It comes to a total of {}",
          also=("sum", "amount", "price")),
        a("date", v.date, "The date is {}", "~ has the date {}", also=("ordered", "order_date")),
        a("paid", v.boolean, ("~ is paid", "~ is not paid"), ("~ has been paid", "~ has not been paid yet"),
          also=("is_paid",)),
        a("status", STATES, "The status is {}", "Its status: {}", also=("state",)),
        a("shipping", v.nested(city=v.city, country=v.country), also=("address", "to")),
    ]),
    "event": ("name", [
        a("name", v.title, "The event is called {}", "~ has the name {}", also=("title", "event")),
        a("date", v.date, "~ takes place on {}", "~ is on {}", also=("day", "when")),
        a("time", v.time, "~ starts at {}", "~ begins at {}", also=("start", "starts")),
        a("place", ROOMS, "~ takes place in {}", "The place is {}", also=("location", "where")),
        a("guests", v.integer(5, 900), "There will be {} guests", "{} guests are expected",
          also=("visitors", "people")),
        a("free", v.boolean, ("Entry is free", "Entry is not free"), ("~ is free", "~ is not free"),
          also=("free_entry",)),
        a("speakers", v.several(v.first_name), "The speakers are {}", "As speakers we have {}"),
    ]),
    "product": ("name", [
        a("name", product, "The product is called {}", "~ has the name {}", also=("product", "title", "item")),
        a("price", v.decimal(1, 500, 2), "~ costs {}", "~ costs {} euros", "~ sells for {}", also=("cost", "amount")),
        a("stock", v.integer(0, 500), "There are {} in stock", "We have {} in stock", also=("quantity", "count")),
        a("color", v.colour, *COLOUR, "~ comes in {}", also=("colour",)),
        a("material", MATERIALS, "~ is made of {}", "~ consists of {}", also=("made_of",)),
        a("tags", v.several(v.tag), "Its tags are {}", "~ is tagged {}", also=("labels", "keywords")),
        a("weight", v.decimal(1, 40), "~ weighs {} kg", also=("weight_kg", "kg")),
        a("available", v.boolean, ("~ is available", "~ is not available"), also=("in_stock",)),
        a("sku", v.code, "The sku is {}", "~ has the sku {}", also=("code", "article")),
    ]),
    "house": ("", [
        a("street", v.street, "~ stands in {}", "~ is in {}", also=("address", "road")),
        a("city", v.city, "It is in the city of {}", "~ is located in the city {}", also=("town",)),
        a("rooms", v.integer(1, 20), "~ has {} rooms", "There are {} rooms", also=("room_count",)),
        a("area", v.decimal(30, 400), "~ has {} square metres", "Its area is {} square metres",
          also=("size", "area_m2")),
        a("rent", v.integer(300, 4000), "The rent is {} euros", "It rents for {} a month", also=("price", "cost")),
        a("garden", v.boolean, ("~ has a garden", "~ has no garden"), also=("has_garden",)),
        a("material", MATERIALS, "~ is built of {}", "~ is made of {}", also=("built_of",)),
        a("year", YEAR, "~ was built in {}", "~ dates from {}", also=("built",)),
    ]),
    "song": ("title", [
        a("title", v.title, "The song is called {}", "~ has the title {}", also=("name", "song")),
        a("artist", v.some_name, "~ is sung by {}", "~ is a song by {}", "{} sings it", also=("singer", "by", "band")),
        a("year", YEAR, "~ came out in {}", "~ was released in {}", also=("released",)),
        a("seconds", v.integer(60, 600), "~ lasts {} seconds", "~ is {} seconds long", also=("length", "duration")),
        a("genre", v.table("pop", "rock", "jazz", "folk", "blues", "soul", "techno", "reggae", "opera", "punk",
                           "country", "swing"),
          "The genre is {}", "Its genre is {}", also=("style",)),
        a("album", v.title, "~ is on the album {}", "It comes from the album {}", also=("record",)),
        a("live", v.boolean, ("~ was recorded live", "~ was not recorded live"), also=("live_recording",)),
    ]),
    "film": ("title", [
        a("title", v.title, "The film is called {}", "~ has the title {}", also=("name", "movie")),
        a("director", v.full_name, "~ was directed by {}", "{} directed it", also=("directed_by", "made_by")),
        a("year", YEAR, "~ came out in {}", "~ was released in {}", also=("released",)),
        a("actors", v.several(v.full_name, 2, 3), "The actors are {}", "It stars the actors {}",
          also=("cast", "stars")),
        a("rating", v.decimal(1, 9), "~ has a rating of {}", "It is rated {}", also=("score", "stars")),
        a("minutes", v.integer(60, 200), "~ runs for {} minutes", "~ is {} minutes long", also=("length", "runtime")),
        a("genre", GENRES, "The genre is {}", "Its genre is {}", also=("category",)),
    ]),
    "plant": ("", [
        a("species", PLANTS, "~ is a {}", "It is a {}", also=("kind", "plant", "type")),
        a("height", v.decimal(1, 300), "~ is {} cm high", "~ is {} cm tall", also=("height_cm", "size")),
        a("color", v.colour, "~ has {} leaves", "Its color is {}", also=("colour", "leaf_color")),
        a("location", ROOMS, "~ stands in {}", "You find it in {}", also=("place", "where")),
        a("water", v.either("daily", "weekly", "rarely", "often", "twice a week", "every three days"),
          "~ needs water {}",
          "Water it {}", also=("watering",)),
        a("edible", v.boolean, ("~ is edible", "~ is not edible"), also=("can_be_eaten",)),
    ]),
    "robot": ("name", [
        a("name", v.capital, "The robot is called {}", "~ has the name {}", also=("robot", "id")),
        a("task", v.table("cleaning", "cooking", "welding", "painting", "guarding", "sorting", "digging", "packing",
                          "mowing", "lifting",
                          "counting", "measuring"), "~ is built for {}", "Its task is {}", also=("job", "purpose")),
        a("battery", v.integer(1, 100), "Its battery is at {} percent", "The battery stands at {}",
          also=("battery_percent", "charge")),
        a("weight", v.decimal(1, 300), "~ weighs {} kg", also=("weight_kg", "mass")),
        a("sensors", v.several(v.table("camera", "radar", "microphone", "gyroscope", "thermometer", "sonar", "compass",
                                       "barometer",
                                       "touch", "light"), 2, 3), "Its sensors are {}", "~ has the sensors {}"),
        a("active", v.boolean, ("~ is active", "~ is not active"), also=("on", "running")),
        a("position", v.several(v.integer(-50, 50), 2, 3), "Its position is {}", "The position: {}",
          also=("coordinates",)),
    ]),
    "invoice": ("", [
        a("number", v.code, "The number of the invoice is {}", "~ has the number {}",
          also=("id", "invoice", "invoice_number")),
        a("customer", v.full_name, "~ goes to the customer {}", "The customer is {}", also=("client", "to", "name")),
        a("amount", v.decimal(5, 5000, 2), "The amount is {}", "~ is about the amount of {}", also=("total", "sum")),
        a("currency", v.either("EUR", "USD", "GBP", "CHF", "JPY"), "The currency is {}", also=("unit",)),
        a("due", v.date, "~ is due on {}", "Payment is due on {}", also=("due_date", "deadline")),
        a("paid", v.boolean, ("~ is paid", "~ is not paid"), ("~ has been paid", "~ has not been paid"),
          also=("settled",)),
        a("email", v.email, "It was sent to {}", "It goes to {}", also=("mail",)),
    ]),
    "ticket": ("", [
        a("id", v.code, "~ has the id {}", "The ticket id is {}", also=("number", "ticket", "key")),
        a("title", v.title, "~ has the title {}", "The title is {}", also=("subject", "summary")),
        a("priority", v.either("low", "medium", "high", "urgent"), "~ has {} priority", "The priority is {}",
          also=("level", "prio")),
        a("status", STATES, "The status is {}", "Its status is {}", also=("state",)),
        a("assignee", v.first_name, "~ is assigned to {}", "The assignee is {}", also=("owner", "assigned_to", "who")),
        a("labels", v.several(v.tag), "The labels are {}", "~ has the labels {}", also=("tags",)),
        a("created", v.date, "~ was created on {}", "It was created on {}", also=("date", "opened")),
    ]),
    "message": ("", [
        a("from", v.first_name, "~ is from {}", "{} sent it", also=("sender", "author")),
        a("to", v.first_name, "~ is for {}", "It goes to {}", also=("receiver", "recipient")),
        a("subject", v.title, "The subject is {}", "~ has the subject {}", also=("title", "about")),
        a("date", v.date, "It was sent on {}", "The date is {}", also=("sent", "day")),
        a("time", v.time, "It arrived at {}", "The time was {}", also=("sent_at",)),
        a("read", v.boolean, ("~ has been read", "~ has not been read"), ("~ is read", "~ is not read"),
          also=("seen",)),
    ]),
    "meeting": ("topic", [
        a("topic", v.title, "The topic is {}", "~ has the topic {}", also=("title", "subject", "about")),
        a("date", v.date, "~ is on {}", "We meet on {}", also=("day", "when")),
        a("time", v.time, "~ starts at {}", "~ begins at {}", also=("start",)),
        a("room", v.table("D 4", "A 12", "B 3", "Oak", "Birch", "Blue Room", "C 101", "Lake", "Tower", "Attic",
                          "Cellar", "Green Room"),
          "~ is in the room {}", "The room is {}", also=("where", "place")),
        a("people", v.several(v.first_name), "{} take part", "The people are {}", also=("attendees", "participants")),
        a("minutes", v.integer(15, 180), "~ lasts {} minutes", "~ takes {} minutes", also=("duration", "length")),
        a("online", v.boolean, ("~ is online", "~ is not online"), also=("remote",)),
    ]),
    "planet": ("name", [
        a("name", v.capital, "The planet is called {}", "~ has the name {}", also=("planet",)),
        a("moons", v.integer(0, 90), "~ has {} moons", "{} moons go around it", also=("moon_count", "satellites")),
        a("radius", v.integer(900, 90000), "~ has a radius of {} km", "Its radius is {} km",
          also=("radius_km", "size")),
        a("rings", v.boolean, ("~ has rings", "~ has no rings"), also=("has_rings",)),
        a("star", v.capital, "~ circles the star {}", "~ goes around the star {}", also=("sun",)),
        a("temperature", v.integer(-250, 500), "The temperature there is {} degrees", "It has a temperature of {}",
          also=("temp",)),
        a("year", v.decimal(1, 900), "A year there lasts {} days", "Its year has {} days", also=("days", "orbit_days")),
    ]),
    "tool": ("name", [
        a("name", v.thing, "The tool is called {}", "~ has the name {}", also=("tool",)),
        a("material", MATERIALS, "~ is made of {}", "~ consists of {}", also=("made_of",)),
        a("length", v.decimal(1, 200), "~ is {} cm long", "~ has a length of {} cm", also=("length_cm", "size")),
        a("price", v.decimal(1, 300, 2), "~ costs {}", "~ sells for {}", also=("cost",)),
        a("electric", v.boolean, ("~ is electric", "~ is not electric"), also=("powered",)),
        a("uses", v.several(v.table("cutting", "drilling", "fixing", "measuring", "polishing", "bending", "lifting",
                                    "digging",
                                    "cleaning", "joining")), "Its uses are {}", "~ serves for {}", also=("purposes",)),
    ]),
    "game": ("name", [
        a("name", v.title, "The game is called {}", "~ has the name {}", also=("title", "game")),
        a("players", v.integer(1, 12), "~ is for {} players", "It takes {} players", also=("player_count",)),
        a("minutes", v.integer(5, 240), "~ takes {} minutes", "A round takes {} minutes", also=("duration", "time")),
        a("age", v.integer(3, 18), "~ is for the age of {} and up", "The age is {}", also=("min_age", "from_age")),
        a("publisher", brand, "~ is published by {}", "The publisher is {}", also=("company", "maker")),
        a("parts", v.several(v.thing), "The parts are {}", "In the box are the parts {}", also=("contents", "pieces")),
        a("cooperative", v.boolean, ("~ is cooperative", "~ is not cooperative"), also=("coop",)),
    ]),
    "shop": ("name", [
        a("name", v.title, "The shop is called {}", "~ has the name {}", also=("shop", "store")),
        a("city", v.city, "~ is in the city of {}", "It is located in {}", also=("town", "place")),
        a("owner", v.full_name, "~ belongs to {}", "~ is owned by {}", also=("boss",)),
        a("sells", v.several(v.food), "~ sells {}", "You can buy {} there", also=("products", "goods")),
        a("opens", v.time, "~ opens at {}", "You can come from {}", also=("open_from", "opening_time")),
        a("phone", v.phone, "Call it at {}", "The phone number is {}", also=("tel", "telephone")),
        a("parking", v.boolean, ("There is parking", "There is no parking"), also=("has_parking",)),
    ]),
    "train": ("", [
        a("number", v.code, "~ has the number {}", "The number of the train is {}", also=("id", "train")),
        a("from", v.city, "~ leaves from {}", "~ comes from {}", also=("start", "origin")),
        a("to", v.city, "~ goes to {}", "~ runs to {}", also=("destination", "end")),
        a("departure", v.time, "~ departs at {}", "The departure is at {}", also=("departs", "leaves")),
        a("arrival", v.time, "~ arrives at {}", "The arrival is at {}", also=("arrives",)),
        a("platform", v.integer(1, 24), "~ leaves from platform {}", "Go to platform {}", also=("track",)),
        a("delay", v.integer(0, 90), "~ is {} minutes late", "It has a delay of {} minutes",
          also=("delay_minutes", "late")),
    ]),
    "boat": ("name", [
        a("name", v.title, "The boat is called {}", "~ has the name {}", also=("boat", "ship")),
        a("length", v.decimal(3, 90), "~ is {} metres long", "~ has a length of {} metres", also=("length_m", "size")),
        a("captain", v.some_name, "{} is the captain", "Its captain is {}", also=("skipper",)),
        a("harbour", v.city, "Its harbour is {}", "~ lies in the harbour of {}", also=("home", "port")),
        a("crew", v.integer(1, 40), "~ has a crew of {}", "The crew counts {} people", also=("crew_size", "people")),
        a("sails", v.integer(0, 8), "~ has {} sails", "There are {} sails", also=("sail_count",)),
        a("color", v.colour, *COLOUR, "~ is painted {}", also=("colour",)),
    ]),
    "team": ("name", [
        a("name", v.title, "The team is called {}", "~ has the name {}", also=("team",)),
        a("sport", SPORTS, "~ plays {}", "The sport is {}", also=("game",)),
        a("city", v.city, "~ comes from {}", "~ is from {}", also=("town", "home")),
        a("coach", v.full_name, "{} is the coach", "~ is trained by {}", also=("trainer",)),
        a("players", v.several(v.first_name), "The players are {}", "{} are the players", also=("members",)),
        a("points", v.integer(0, 120), "~ has {} points", "So far it has {} points", also=("score",)),
        a("colors", v.several(v.colour, 2, 3), "Its colors are {}", "The colors are {}", also=("colours",)),
    ]),
    "course": ("title", [
        a("title", v.title, "The course is called {}", "~ has the title {}", also=("name", "course")),
        a("teacher", v.some_name, "~ is taught by {}", "{} is the teacher", also=("lecturer", "taught_by")),
        a("weeks", v.integer(1, 52), "~ lasts {} weeks", "~ runs for {} weeks", also=("duration", "length")),
        a("students", v.integer(3, 400), "~ has {} students", "{} students take part", also=("participants", "size")),
        a("language", LANGUAGES, "~ is held in {}", "It is taught in {}", also=("lang",)),
        a("instrument", INSTRUMENTS, "Its instrument is the {}", "~ is for the instrument {}"),
        a("weekday", v.weekday, "It is on {}", "The weekday is {}", also=("day",)),
        a("online", v.boolean, ("~ is online", "~ is not online"), also=("remote",)),
    ]),
    "computer": ("", [
        a("brand", brand, "~ is made by {}", "The brand is {}", also=("maker", "manufacturer")),
        a("model", model, "~ is the model {}", "The model is {}", also=("type",)),
        a("memory", v.integer(2, 512), "~ has {} GB of memory", "It comes with {} GB of memory",
          also=("ram", "memory_gb")),
        a("cores", v.integer(2, 128), "~ has {} cores", "The processor has {} cores", also=("cpu_cores",)),
        a("disk", v.integer(100, 8000), "The disk has {} GB", "Its disk holds {} GB", also=("storage", "disk_gb")),
        a("screen", v.decimal(10, 40), "The screen has {} inches", "Its screen is {} inches wide",
          also=("screen_inches", "display")),
        a("ports", v.several(v.table("usb", "hdmi", "audio", "network", "serial", "power", "display", "card"), 2, 3),
          "The ports are {}",
          "~ has the ports {}", also=("connectors",)),
        a("used", v.boolean, ("~ is used", "~ is not used"), also=("second_hand",)),
    ]),
    "phone": ("", [
        a("brand", brand, "~ is made by {}", "The brand is {}", also=("maker", "company")),
        a("model", model, "~ is the model {}", "The model is {}", also=("name", "type")),
        a("number", v.phone, "Its number is {}", "~ has the number {}", also=("tel", "phone_number")),
        a("color", v.colour, *COLOUR, "The color is {}", also=("colour",)),
        a("battery", v.integer(1, 100), "The battery is at {} percent", "Its battery stands at {}",
          also=("charge", "battery_percent")),
        a("version", v.version, "~ runs the version {}", "The version is {}", also=("system", "os_version")),
        a("broken", v.boolean, ("~ is broken", "~ is not broken"), also=("damaged",)),
        a("apps", v.several(v.word, 2, 4), "Its apps are {}", "It has the apps {}", also=("programs",)),
    ]),
    "weather report": ("", [
        a("city", v.city, "It is for the city of {}", "The city is {}", also=("place", "location")),
        a("temperature", v.integer(-20, 42), "The temperature is {} degrees", "It has {} degrees",
          also=("temp", "degrees")),
        a("condition", WEATHERS, "It is {} today", "The condition is {}", also=("weather", "sky")),
        a("wind", v.decimal(1, 120), "The wind blows at {} km/h", "The wind is {} km/h",
          also=("wind_kmh", "wind_speed")),
        a("humidity", v.integer(5, 100), "The humidity is {} percent", "It has a humidity of {}",
          also=("humidity_percent",)),
        a("rain", v.boolean, ("There is rain", "There is no rain"), ("It rains", "It does not rain"),
          also=("raining",)),
        a("date", v.date, "The date is {}", "It is the report of {}", also=("day",)),
    ]),
    "star": ("name", [
        a("name", v.capital, "The star is called {}", "~ has the name {}", also=("star",)),
        a("distance", v.decimal(4, 900), "~ is {} light years away", "Its distance is {} light years",
          also=("light_years",)),
        a("mass", v.decimal(1, 50), "~ has a mass of {} suns", "Its mass is {}", also=("solar_masses",)),
        a("color", v.colour, *COLOUR, "~ shines {}", also=("colour", "light")),
        a("planets", v.integer(0, 14), "~ has {} planets", "{} planets go around it", also=("planet_count",)),
        a("constellation", v.capital, "~ is part of the constellation {}", "You see it in the constellation {}",
          also=("group",)),
        a("visible", v.boolean, ("~ is visible", "~ is not visible"), also=("can_be_seen",)),
    ]),
}

# The answer to "an example of a ... as JSON": one object for every kind, always the same.
EXAMPLES = {
    "person": {"name": "Ada", "age": 36, "city": "London"},
    "pet": {"name": "Milo", "kind": "cat", "age": 3},
    "book": {"title": "The Green Hill", "author": "Nora Lind", "year": 1998},
    "car": {"brand": "Volta", "color": "red", "doors": 4},
    "city": {"name": "Paris", "country": "France"},
    "recipe": {"name": "pancakes", "ingredients": ["flour", "milk", "eggs"], "minutes": 20},
    "order": {"id": "A-17", "items": ["lamp", "chair"], "paid": True},
    "event": {"name": "Summer Party", "date": "2026-07-04", "guests": 30},
    "product": {"name": "lamp", "price": 19.5, "available": True},
    "house": {"street": "Mill Road 5", "rooms": 4, "garden": True},
    "film": {"title": "The Last Train", "year": 2004, "minutes": 95},
    "plant": {"species": "fern", "height": 40, "water": "weekly"},
    "robot": {"name": "Bip", "battery": 80, "active": True},
    "ticket": {"id": "T-42", "title": "Broken Lamp", "status": "open"},
    "message": {"from": "Ada", "to": "Tom", "subject": "Hello"},
    "meeting": {"topic": "The New Bridge", "time": "10:00", "people": ["Ada", "Tom"]},
    "tool": {"name": "hammer", "material": "steel", "price": 12.5},
    "game": {"name": "Chess", "players": 2},
    "shop": {"name": "Corner Shop", "opens": "08:00", "sells": ["bread", "milk"]},
    "train": {"number": "R-12", "from": "Rome", "to": "Milan"},
    "team": {"name": "The Owls", "sport": "hockey", "points": 12},
    "course": {"title": "Cooking", "teacher": "Eva", "weeks": 8},
    "computer": {"brand": "Norda", "memory": 16, "cores": 8},
    "phone": {"brand": "Comet", "color": "black", "battery": 75},
    "weather report": {"city": "Oslo", "temperature": 12, "condition": "cloudy"},
    "star": {"name": "Sirius", "distance": 8.6, "visible": True},
}

# Keys for objects of no kind; half of them are real nouns with plain values.
KEYS = """
    id name title kind type size color colour weight height width depth length speed price cost amount count level
    rank score grade status state mode unit value label tag code key owner author source target place street city
    country region zone planet date day month year time hour start end from to phone email url path file format
    version language note comment summary topic group team member friend boss job role skill sport hobby food drink
    taste smell sound shape texture material pattern brand model series number page chapter line row column index
    position angle radius area volume mass density power energy force pressure temperature humidity voltage current
    frequency distance duration delay limit minimum maximum average total sum tax discount currency account balance
    budget rent fee salary stock quantity rating stars votes likes views answer question result reason cause effect
    goal plan step task phase stage turn round move
""".split()
FLAGS = """
    active available open closed paid new used ready done visible hidden public private online offline enabled broken
    clean dry empty full locked safe sold urgent verified wanted warm wild working valid shared saved required
    optional
""".split()
LISTS = """
    tags items colors colours names parts friends members numbers values points scores steps words letters cities
    languages skills hobbies toys tools books files pages layers lines rows sizes options labels guests sports
    keywords
""".split()
