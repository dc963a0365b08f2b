public interface Main {
    static void main(String[] args) throws Exception {
        System.out.println("interface");
        throw new Exception("from an interface");
    }
}
