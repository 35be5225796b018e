"""Phrases that state several attributes at once, by kind (see objects_data). A phrase that starts with
"a", "the" or "my" names the object; the others are sentences."""

PHRASES = {
    "person": [
        "{name} is a {age} year old {job} from {city}.", "{name}, {age}, lives in {city} and works as a {job}.",
        "{name} ({age}) from {city}",
        "{name} is {age} and lives in {city}.", "{name} is a {job} in {city}.",
        "My friend {name} is {age} years old and likes {hobbies}.",
        "{name} is {age}.", "{name} works as a {job}, is {age} years old and comes from {city}.",
        "I am {name}, {age} years old, from {city}.",
        "My name is {name}, I am {age} and I live in {city}.", "a {job} called {name}, aged {age}",
        "a person named {name}, aged {age}", "a person called {name} who lives in {city}",
        "a user named {name} with the email {email}", "a {age} year old {job} named {name}",
        "the {job} {name} from {city}",
        "{name} from {city}, {age} years old, can be reached at {email}.",
        "{name} is {age} years old and {job} by profession."],
    "pet": [
        "{name} is a {color} {kind}, {age} years old.", "{name} is a {age} year old {kind}.",
        "My {kind} {name} is {age} years old.",
        "{owner} has a {color} {kind} called {name}.", "{name} is a {kind} and belongs to {owner}.",
        "{name}, a {color} {kind}, is {age}.",
        "a {color} {kind} named {name}", "a {kind} named {name}", "a {kind} called {name} who is {age} years old",
        "a {age} year old {kind} named {name}", "a {kind} with the name {name} that weighs {weight} kg",
        "the {kind} {name}, {age} years old and {color}", "my {color} {kind} {name}",
        "{name} is {owner}'s {kind}, {age} years old, and weighs {weight} kg.",
        "I have a {kind}. It is {color} and {age} years old.",
        "{name} is a {color} {kind}.", "Our {kind} is called {name}. It is {age}."],
    "book": [
        "{title} by {author} ({year})", "{title}, written by {author}, was published in {year} and has {pages} pages.",
        "the book {title} by {author}",
        "{author} wrote {title} in {year}.", "the book {title} by {author}, {year}, {pages} pages",
        "a {genre} book called {title} by {author}",
        "{title} is a book by {author}. It has {pages} pages.", "{author}: {title}, {year}",
        "the book {title} from {year} with {pages} pages",
        "{title} is a {genre} book from {year}.", "I read {title} by {author}, {pages} pages long."],
    "car": [
        "a {color} {brand} {model} from {year}", "My {color} {brand} has {doors} doors.",
        "the {brand} {model}, built in {year}, {color}",
        "{owner} drives a {color} {brand} {model}.", "a {brand} {model} with {doors} doors for {price} euros",
        "my {color} {brand} from {year}",
        "A {brand} {model} was built in {year}. It costs {price}."],
    "city": [
        "{name} is a city in {country} with {population} inhabitants.", "{name}, {country}",
        "the city of {name} in {country}",
        "{name} in {country} has {population} inhabitants.", "{name} lies on the river {river} in {country}.",
        "the city {name}, founded in {founded}, {population} people",
        "{name} was founded in {founded}. Its mayor is {mayor}."],
    "recipe": [
        "{name}: takes {minutes} minutes and makes {servings} servings.",
        "For {name} you need {ingredients}. It takes {minutes} minutes.",
        "the recipe {name} with {ingredients}", "a recipe for {name}, {minutes} minutes, {difficulty}",
        "{name} needs {ingredients}.",
        "Cook {name} with {ingredients} in {minutes} minutes for {servings} people."],
    "order": [
        "{customer} ordered {items} on {date}.", "Order {id} by {customer} has a total of {total}.",
        "the order {id} of {customer}: {items}",
        "{customer} bought {items} for {total}.", "Order {id}, {status}, total {total}",
        "{customer} placed order {id} on {date} for {total}."],
    "event": [
        "{name} is on {date} at {time}.", "{name} on {date} in {place}",
        "the event {name}, {date}, {time}, {guests} guests",
        "{name} takes place on {date} in {place} with {guests} guests.",
        "Come to {name} on {date}! It starts at {time}."],
    "product": [
        "{name} for {price}", "a {color} {name} made of {material} for {price} euros",
        "the {name}, {price}, {stock} in stock",
        "The {name} costs {price} and is made of {material}.",
        "We sell the {name} for {price}. There are {stock} left.",
        "the product {name} with the price {price} and the sku {sku}", "{name}, {color}, {price}"],
    "house": [
        "a house with {rooms} rooms in {street}, {city}",
        "The house in {street} has {rooms} rooms and {area} square metres.",
        "a {material} house from {year} with {rooms} rooms", "{street}, {city}: {rooms} rooms, {area} square metres",
        "The house in {street} rents for {rent} euros."],
    "song": [
        "{title} by {artist}", "{title} by {artist} from {year}", "the song {title} by {artist}, {seconds} seconds",
        "{artist} sings {title} on the album {album}.",
        "{title} is a {genre} song by {artist}."],
    "film": [
        "{title} by {director} ({year})", "the film {title} directed by {director} in {year}",
        "{title} is a {genre} film with {actors}.",
        "{title}, {year}, {minutes} minutes",
        "{director} made the film {title} in {year}. It runs for {minutes} minutes.",
        "the film {title} from {year}, rated {rating}"],
    "plant": [
        "a {species} that is {height} cm high", "my {species} in {location}",
        "The {species} in {location} is {height} cm tall.",
        "a {height} cm high {species} with {color} leaves", "The {species} needs water {water}."],
    "robot": [
        "{name} is a robot for {task} and weighs {weight} kg.", "the robot {name} with a battery at {battery} percent",
        "{name}, a robot built for {task}, has {sensors} as sensors.",
        "a {task} robot called {name}", "{name} weighs {weight} kg and its battery is at {battery} percent.",
        "Robot {name} is at position {position}."],
    "invoice": [
        "Invoice {number} for {customer} over {amount} {currency}", "{customer} must pay {amount} {currency} by {due}.",
        "the invoice {number}, {amount} {currency}, due {due}"],
    "ticket": [
        "{id}: {title} ({status})", "Ticket {id}, {title}, is assigned to {assignee}.",
        "{assignee} works on ticket {id}. Its status is {status}.",
        "the ticket {id} with {priority} priority, assigned to {assignee}",
        "{title} has {priority} priority and is {status}."],
    "message": [
        "{from} wrote to {to} on {date}.", "a message from {from} to {to} with the subject {subject}",
        "From {from} to {to}: {subject}, {date}, {time}",
        "{from} sent a message to {to} at {time}.", "the message of {from} to {to}"],
    "meeting": [
        "{topic} on {date} at {time}", "Meeting about {topic} with {people} at {time}",
        "We talk about {topic} on {date} at {time} in the room {room}.",
        "the meeting about {topic} with {people}", "{people} meet on {date} at {time}.",
        "a meeting about {topic} at {time}, {minutes} minutes"],
    "planet": [
        "{name} is a planet with {moons} moons and a radius of {radius} km.", "the planet {name} with {moons} moons",
        "{name} circles {star} and has {moons} moons.",
        "a planet called {name}, {temperature} degrees"],
    "tool": [
        "a {name} made of {material} for {price}", "the {name}, {length} cm long, made of {material}",
        "The {name} is {length} cm long and costs {price}.", "my {material} {name}"],
    "game": [
        "{name} is a game for {players} players.", "the game {name} for {players} players, {minutes} minutes",
        "{name} by {publisher}: {players} players, {minutes} minutes, age {age} and up",
        "{name} takes {minutes} minutes and is for the age of {age} and up.", "a game called {name} with {parts}"],
    "shop": [
        "{name} in {city} sells {sells}.", "the shop {name} in {city}", "{owner} owns the shop {name} in {city}.",
        "{name} opens at {opens} and sells {sells}.",
        "a shop called {name} that opens at {opens}"],
    "train": [
        "the train {number} from {from} to {to}", "{number} from {from} to {to} at {departure}, platform {platform}",
        "The train from {from} to {to} leaves at {departure} and arrives at {arrival}.",
        "Train {number} to {to} is {delay} minutes late.", "a train from {from} to {to} at {departure}"],
    "boat": [
        "{name} is a {color} boat, {length} metres long.", "the boat {name} with {sails} sails and a crew of {crew}",
        "{captain} sails the boat {name}.", "{name}, {length} metres, harbour {harbour}"],
    "team": [
        "{name} from {city} play {sport}.", "the {sport} team {name} with {points} points", "{coach} trains {name}.",
        "{name} has {points} points. The coach is {coach}.",
        "a {sport} team from {city} called {name}"],
    "course": [
        "{title} with {teacher}, {weeks} weeks", "the course {title} by {teacher}",
        "{teacher} teaches {title} in {language} to {students} students.",
        "{title} is a course of {weeks} weeks with {students} students.",
        "a course called {title} on {weekday}"],
    "computer": [
        "a {brand} {model} with {memory} GB of memory and {cores} cores",
        "the {brand} {model}, {memory} GB memory, {disk} GB disk",
        "My {brand} has {cores} cores and {memory} GB of memory.",
        "a {brand} computer with a {screen} inch screen"],
    "phone": [
        "a {color} {brand} {model}", "my {color} {brand} with the number {number}",
        "The {brand} {model} has a battery at {battery} percent.", "the phone {brand} {model}, version {version}"],
    "weather report": [
        "{city}: {temperature} degrees, {condition}", "It is {condition} in {city} at {temperature} degrees.",
        "the weather in {city}: {condition}, {temperature} degrees, wind {wind} km/h",
        "On {date} it was {condition} in {city} with {temperature} degrees.",
        "{temperature} degrees in {city}, humidity {humidity} percent",
        "{city} has {temperature} degrees and is {condition}."],
    "star": [
        "{name} is a {color} star, {distance} light years away.",
        "the star {name} in the constellation {constellation}",
        "{name} has {planets} planets and a mass of {mass} suns.",
        "a {color} star called {name} with {planets} planets"],
}
