package imports

import (
	"strings"
	"testing"
)

const pets = `openapi: 3.1.0
servers:
  - url: https://{host}/v1
    variables: {host: {default: pets.test}}
security: [{token: []}]
paths:
  x-note: ignored
  /pets:
    parameters:
      - {name: X-Tenant, in: header, required: true, schema: {type: string, enum: [blue, red]}}
    get:
      operationId: listPets
      parameters:
        - $ref: '#/components/parameters/Limit'
        - {name: tag, in: query, schema: {type: array, items: {type: string}}, example: [a b, c]}
        - {name: ids, in: query, required: true, explode: false, schema: {type: array, minItems: 2, items: {type: integer, minimum: 5}}}
        - {name: filter, in: query, required: true, style: deepObject, schema: {properties: {from: {type: string, format: date}}}}
        - {name: rest, in: query, schema: {type: string}}
        - {name: session, in: cookie, required: true, schema: {const: s}}
    post:
      operationId: addPet
      requestBody: {$ref: '#/components/requestBodies/Pet'}
  /pets/{id}/{kind}/{other}:
    get:
      parameters:
        - {name: id, in: path, required: true, schema: {type: string, format: uuid}}
        - {name: kind, in: path, required: true, examples: {one: {value: a/b}}}
    put:
      requestBody:
        content:
          application/x-www-form-urlencoded: {schema: {type: object, properties: {a: {default: '1 2'}, b: {type: boolean}}}}
    delete: {}
    patch: {requestBody: {required: true, content: {multipart/form-data: {schema: {type: object}}}}}
    options: {}
components:
  parameters:
    Limit: {name: limit, in: query, schema: {type: integer, example: 20}}
  requestBodies:
    Pet: {content: {text/plain: {}, application/json: {schema: {$ref: '#/components/schemas/Pet'}}}}
  schemas:
    Base: {type: object, required: [name], properties: {name: {type: string, minLength: 8}, id: {type: integer, readOnly: true}}}
    Pet:
      allOf:
        - {$ref: '#/components/schemas/Base'}
        - required: [born, friends, owner, n, price, unsafe, kind]
          properties:
            born: {type: string, format: date-time}
            friends: {type: array, items: {$ref: '#/components/schemas/Pet'}}
            owner: {oneOf: [{type: 'null'}, {properties: {mail: {format: email, type: [string, 'null']}}}, {type: string}]}
            n: {type: integer, exclusiveMinimum: 5, multipleOf: 5}
            price: {type: number, maximum: 0.5, multipleOf: 0.25}
            unsafe: {example: '${vu}'}
            kind: {enum: [cat, dog]}
            optional: {type: string}
            colour: {type: string, default: red}
`

func openAPI(t *testing.T, source string, o OpenAPIOptions) *Scenario {
	t.Helper()
	s, err := OpenAPI("o.yaml", []byte(source), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestOpenAPI(t *testing.T) {
	const list = "GET /v1/pets?limit=20&tag=a+b&tag=c&ids=5%2C5&filter%5Bfrom%5D=2026-01-31 HTTP/1.1\r\nHost: pets.test\r\nX-Tenant: blue\r\nCookie: session=s\r\n\r\n"
	const one = "GET /v1/pets/3f2504e0-4f89-41d3-9a0c-0305e82c3301/a%2Fb/1 HTTP/1.1\r\nHost: pets.test\r\n\r\n"
	s := openAPI(t, pets, OpenAPIOptions{})
	equal(t, wires(t, s, Settings{}), list, one)
	noted(t, s, "4 operations that may change data left out; --all imports them", "require authentication (token)", "does not describe {other}")

	s = openAPI(t, pets, OpenAPIOptions{Base: "http://localhost:8080/api/", All: true})
	got := wires(t, s, Settings{})
	const body = `{"name":"stringst","born":"2026-01-31T12:00:00Z","friends":[],"owner":{"mail":"user@example.com"},"n":10,"price":0.25,"unsafe":"${vu}","kind":"cat","colour":"red"}`
	_, sent, _ := strings.Cut(got[1], "\r\n\r\n")
	if !strings.HasPrefix(got[1], "POST /api/pets HTTP/1.1\r\nHost: localhost:8080\r\nX-Tenant: blue\r\nContent-Type: application/json\r\n") || sent != body {
		t.Errorf("addPet is %q", got[1])
	}
	_, sent, _ = strings.Cut(got[3], "\r\n\r\n")
	if len(got) != 5 || sent != "a=1+2&b=true" || !strings.HasPrefix(got[4], "DELETE ") {
		t.Errorf("requests %q", got)
	}
	noted(t, s, "PATCH /pets/{id}/{kind}/{other} left out: no body can be generated for multipart/form-data")
}

// JSON may contain what YAML cannot: tabs, and characters as surrogate pairs.
func TestOpenAPIJSON(t *testing.T) {
	s := openAPI(t, "{\n\t\"openapi\": \"3.0.3\",\n\t\"paths\": {\"/a\": {\"post\": {\"requestBody\": {\"content\": {\"application/json\": {\"example\": {\"s\": \"\\ud83d\\ude00\", \"n\": 1.50, \"l\": [null, true]}}}}},"+
		" \"get\": {\"parameters\": [{\"name\": \"q\", \"in\": \"query\", \"required\": true, \"schema\": {\"type\": \"integer\", \"minimum\": 3, \"exclusiveMinimum\": true}}]}}}}", OpenAPIOptions{All: true})
	noted(t, s, "does not name a server")
	s.Base = "http://h"
	got := wires(t, s, Settings{})
	if want := "GET /a?q=4 HTTP/1.1\r\nHost: h\r\n\r\n"; got[1] != want {
		t.Errorf("%q, want %q", got[1], want)
	}
	if !strings.HasSuffix(got[0], `{"s":"😀","n":1.50,"l":[null,true]}`) {
		t.Errorf("the body of %q", got[0])
	}
}

// Schemas that contain themselves, and ones that grow without end, make a finite body.
func TestOpenAPIBounds(t *testing.T) {
	var wide strings.Builder
	wide.WriteString("openapi: 3.0.0\npaths: {/: {post: {requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/s0'}}}}}}}\ncomponents:\n  schemas:\n")
	for i := range 9 {
		at := string(rune('0' + i))
		wide.WriteString("    s" + at + ": {type: object, properties: {")
		for j := range 9 {
			wide.WriteString("p" + string(rune('0'+j)) + ": {$ref: '#/components/schemas/s" + string(rune('1'+i)) + "'}, ")
		}
		wide.WriteString("}}\n")
	}
	s := openAPI(t, wide.String(), OpenAPIOptions{Base: "http://h", All: true})
	if n := len(wires(t, s, Settings{})[0]); n > 100_000 {
		t.Errorf("a body of %d bytes", n)
	}
	noted(t, s, "a part of the body is left out")
	s = openAPI(t, "openapi: 3.0.0\npaths: {/: {get: {parameters: [{name: a, in: query, required: true, schema: {$ref: '#/x'}}, {$ref: '#/loop'}]}}}\nx: {allOf: [{$ref: '#/x'}]}\nloop: {$ref: '#/loop'}\n", OpenAPIOptions{Base: "http://h"})
	equal(t, wires(t, s, Settings{}), "GET /?a=string HTTP/1.1\r\nHost: h\r\n\r\n")
}

func TestOpenAPIRefused(t *testing.T) {
	for source, want := range map[string]string{
		"":               "o: the file is empty",
		"a: [\n":         "o:1: did not find expected node content; fix the syntax",
		"a: 1":           "this is not an OpenAPI document of version 3",
		"swagger: '2.0'": `a document of Swagger "2.0"; convert it to OpenAPI 3`,
		"openapi: 4.0.0": "name a document of OpenAPI 3.0 or 3.1",
		"openapi: 3.0.0\nservers: [{url: 'http://{h}'}]":                     "has a variable without a default; give --base",
		"openapi: 3.0.0\nservers: [{url: 'ftp://h'}]\npaths: {/: {get: {}}}": "o:3: \"ftp://h/\" is not a URL of HTTP",
	} {
		_, err := OpenAPI("o", []byte(source), OpenAPIOptions{})
		refused(t, err, want)
	}
}

// Other files are not read: what they describe is left out, with a note.
func TestOpenAPIElsewhere(t *testing.T) {
	s := openAPI(t, "openapi: 3.0.0\npaths:\n  /a: {$ref: 'other.yaml#/a'}\n  /b:\n    get: {$ref: other.yaml}\n    post: {parameters: [{$ref: x.yaml}], requestBody: {$ref: '#/absent'}}\n", OpenAPIOptions{Base: "http://h", All: true})
	equal(t, wires(t, s, Settings{}), "GET /b HTTP/1.1\r\nHost: h\r\n\r\n", "POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n")
	noted(t, s, "/a left out: the document refers to another file", "GET /b is sent without", "POST /b is sent without", "a parameter left out")
	s = openAPI(t, "openapi: 3.0.0\npaths: {/a: {$ref: x}, /b: {post: {}}}", OpenAPIOptions{Base: "http://h"})
	refused(t, s.Finish(Settings{}), "no request to import: /a left out: the document refers to another file, or to something that it does not contain; bundle it into one file first; 1 operation that may change data left out; --all")
}

func FuzzOpenAPI(f *testing.F) {
	f.Add(pets)
	f.Add(`{"openapi":"3.0.0","paths":{"/{a}":{"post":{"requestBody":{"content":{"application/json":{"schema":{"$ref":"#/x"}}}}}}},"x":{"properties":{"a":{"$ref":"#/x"},"b":{"minimum":1e300,"multipleOf":3}}}}`)
	f.Add("openapi: 3.0.0\npaths: {/: &a {get: {parameters: [{in: header, name: b, example: .inf}, *a]}}}")
	f.Fuzz(func(t *testing.T, source string) {
		s, err := OpenAPI("o", []byte(source), OpenAPIOptions{All: true})
		importable(t, s, err)
	})
}
