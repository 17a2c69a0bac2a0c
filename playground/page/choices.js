// Choices of the forms, read from the schema of scenarios and the catalogue of stacks.
export class Choices {
  constructor(catalogue) {
    this.schema = catalogue.schema;
    this.stacks = catalogue.stacks;
    this.version = catalogue.version;
  }

  definition(name) {
    return this.schema.$defs[name];
  }

  // Values of an enumeration, such as `CongestionControl`, with their meanings.
  values(name) {
    return (this.definition(name).oneOf ?? []).map(({ const: value, description }) => ({ value, description }));
  }

  // Variants of a tagged type, such as `Queue`, by their `kind`.
  kinds(name) {
    return this.variants(name).map(({ properties, description }) => ({ value: properties.kind.const, description }));
  }

  // Fields of the variant `kind` of a tagged type.
  fields(name, kind) {
    const variant = this.variants(name).find(({ properties }) => properties.kind.const === kind);
    return variant?.properties ?? {};
  }

  variants(name) {
    const { oneOf, anyOf } = this.definition(name);
    const found = oneOf ?? anyOf.flatMap((part) => part.oneOf ?? []);
    return found.filter((variant) => variant.properties?.kind?.const);
  }

  stack(name) {
    return this.stacks.find((stack) => stack.name === name);
  }

  stackNames() {
    return this.stacks.map(({ name, description }) => ({ value: name, description }));
  }

  profiles(stack) {
    return (this.stack(stack)?.profiles ?? []).map(({ name, description }) => ({ value: name, description }));
  }

  // Whether the stack has this option of an endpoint.
  hasOption(stack, option) {
    return (this.stack(stack)?.options ?? []).some((known) => known.option === option);
  }
}
